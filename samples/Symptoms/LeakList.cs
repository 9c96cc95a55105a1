namespace Samples.Symptoms;

sealed class Order(int number)
{
    public readonly int Number = number;
    public readonly byte[] Body = new byte[500];
}

/// <summary>A static list that only grows.</summary>
static class LeakList
{
    static readonly List<Order> s_orders = [];

    public static void Run(Stage stage) => Leak.Grow(stage, Add, new Leak.Truth(
        Type: typeof(Order).FullName!,
        Path: [$"static {typeof(LeakList).FullName}.{nameof(s_orders)}", "System.Collections.Generic.List<Samples.Symptoms.Order>", "Samples.Symptoms.Order[]", typeof(Order).FullName!]));

    static Order Add()
    {
        var order = new Order(s_orders.Count);
        s_orders.Add(order);
        return order;
    }
}
