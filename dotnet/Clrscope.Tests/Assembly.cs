[assembly: Xunit.CollectionBehavior(DisableTestParallelization = true)] // what is enabled is process-wide
