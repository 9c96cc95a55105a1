using System.Diagnostics.Tracing;
using Xunit;

namespace Clrscope.Tests;

public class EventFilterTests
{
    // Number 6 with text "text", of provider Clrscope-Tests-Numbers.
    [Theory]
    [InlineData("", true)]
    [InlineData("provider=Clrscope-*", true)]
    [InlineData("provider=clrscope-*", false)]
    [InlineData("name=Even id=1 level=4", true)]
    [InlineData("name=E?en", true)]
    [InlineData("name!=Even", false)]
    [InlineData("id>1", false)]
    [InlineData("level<=4", true)]
    [InlineData("number=6", true)]
    [InlineData("number=6.0", true)]
    [InlineData("number==6", true)]
    [InlineData("number=6?", false)]
    [InlineData("number=*6", true)]
    [InlineData("number!=6", false)]
    [InlineData("number>=6 number<7", true)]
    [InlineData("number>6", false)]
    [InlineData("text=text", true)]
    [InlineData("text=t*t", true)]
    [InlineData("text!=other text=\"text\"", true)]
    [InlineData("text>5", false)]
    [InlineData("missing=1", false)]
    [InlineData("missing!=1", false)]
    [InlineData("tid>0 pid>0", true)]
    public void PassesWhatHolds(string where, bool passes)
    {
        using var source = new NumberSource();
        var got = 0;
        using (Session.Start(new SessionRequest { Providers = { "Clrscope-Tests-Numbers" }, Filter = EventFilter.Parse(where) }, (in ClrEvent e) => ++got)) source.Even(6, "text");
        Assert.Equal(passes ? 1 : 0, got);
    }

    [Theory]
    [InlineData("name")]
    [InlineData("=5")]
    [InlineData("a!5")]
    [InlineData("a<b")]
    [InlineData("ok=1 a>=")]
    public void SaysWhatItCannotRead(string where)
    {
        var failure = Assert.Throws<FormatException>(() => EventFilter.Parse(where));
        Assert.Contains($"'{where.Split(' ')[^1]}'", failure.Message);
    }
}

public class RequestTests
{
    [Fact]
    public void ReadsProvidersAsTheCommandLineHasThem()
    {
        Assert.Equal(new ProviderRequest("A"), ProviderRequest.Parse("A"));
        var request = ProviderRequest.Parse("Shop:0x3:Warning:key=1;other=\"a;b\"");
        Assert.Equal((3UL, EventLevel.Warning, "key=1;other=\"a;b\""), (request.Keywords, request.Level, request.Arguments));
        Assert.Equal(0x8001UL, ProviderRequest.Parse("Shop:gc+exception:4").Keywords);
        Assert.Equal(0x10UL, ProviderRequest.Parse("Shop:10").Keywords);
        Assert.Equal(EventLevel.Informational, ProviderRequest.Parse("Shop::info").Level);
        Assert.Equal("a;b", EventLane.Parse(request.Arguments)!["other"]);
    }

    [Theory]
    [InlineData("")]
    [InlineData(":1:2")]
    [InlineData("A:wrong")]
    [InlineData("A:1:9")]
    [InlineData("A:1:loud")]
    [InlineData("A:1:5:argument")]
    public void RefusesWhatIsNoProvider(string text) => Assert.ThrowsAny<Exception>(() => ProviderRequest.Parse(text));

    [Fact]
    public void ReadsCounters()
    {
        var request = CounterRequest.Parse(@"EventCounters\System.Runtime[cpu-usage, gc-count]");
        Assert.Equal((CounterOrigin.EventCounters, "System.Runtime"), (request.Origin, request.Provider));
        Assert.Equal(["cpu-usage", "gc-count"], request.Names);
        Assert.Equal(Environment.Version.Major >= 9, CounterRequest.Parse("System.Runtime").MeansMeter);
        Assert.True(CounterRequest.Parse("Shop").MeansMeter && CounterRequest.Parse("Shop").MeansEventCounters);
        Assert.Throws<FormatException>(() => CounterRequest.Parse("A[b"));
    }

    [Fact]
    public void KeepsItsOwnCopy()
    {
        var request = new SessionRequest { Providers = { "A" } };
        using var session = Session.Start(request);
        request.Providers.Add("B");
        Assert.Equal("A", Assert.Single(session.Request.Providers).Name);
    }
}
