using Xunit;

namespace Clrscope.AspNetCore.Tests;

public class PathShapesTests
{
    readonly PathShapes _shapes = new();

    ulong Key(string path, string method = "GET") => _shapes.KeyOf(method, path, out _);

    // A request that has ended.
    void See(string path, string route, string method = "GET")
    {
        _ = _shapes.KeyOf(method, path, out var shape);
        _shapes.Learn(shape, method, route);
    }

    [Fact]
    public void RequestsOfARouteAreAlikeOnceItIsKnown()
    {
        See("/products/blue-shoe", "/products/{name}");
        See("/products/red-shoe", "/products/{name}");
        See("/products/offers", "/products/offers");
        Assert.Equal(Key("/products/blue-shoe"), Key("/products/red-shoe"));
        Assert.NotEqual(Key("/products/blue-shoe"), Key("/products/offers"));
        Assert.NotEqual(Key("/products/offers"), Key("/products/offers", "POST"));
    }

    [Fact]
    public void NumbersAndIdsAreNoPartOfTheShape()
    {
        See("/orders/17/lines", "/orders/{id}/lines");
        See("/carts/3f2504e0-4f89-41d3-9a0c-0305e82c3301", "/carts/{id}");
        See("/v1/stock", "/v1/stock");
        See("/v2/stock", "/v2/stock");
        See("/", "/");
        Assert.Equal(Key("/orders/17/lines"), Key("/orders/1800/lines"));
        Assert.NotEqual(Key("/orders/17/lines"), Key("/orders/17"));
        Assert.Equal(Key("/carts/3f2504e0-4f89-41d3-9a0c-0305e82c3301"), Key("/carts/9b2d7c11-0d3e-4d53-8f6a-b5a1e77d0c42"));
        Assert.NotEqual(Key("/v1/stock"), Key("/v2/stock"));
    }

    /// <summary>Else a route of which every path is new would be a rare one again and again.</summary>
    [Fact]
    public void PathsOfUnknownShapeCountTogetherByFolder()
    {
        Assert.Equal(Key("/pages/about-us"), Key("/pages/imprint"));
        Assert.NotEqual(Key("/pages/about-us"), Key("/news/about-us"));
        Assert.NotEqual(Key("/pages/about-us"), Key("/pages/archive/about-us"));
        See("/pages/imprint", "/pages/imprint");
        Assert.NotEqual(Key("/pages/about-us"), Key("/pages/imprint"));
    }

    [Fact]
    public void PathsWithNamesAnywhereHaveAFewKeysUntilTheirRouteIsKnown()
    {
        var keys = new HashSet<ulong>();
        foreach (var name in Names()) keys.Add(Key($"/{name}/{name}-site/issues"));
        Assert.InRange(keys.Count, 2, 16);
    }

    // 676 words without digits.
    static IEnumerable<string> Names()
    {
        for (var first = 'a'; first <= 'z'; ++first)
        {
            for (var second = 'a'; second <= 'z'; ++second) yield return $"team-{first}{second}";
        }
    }
}
