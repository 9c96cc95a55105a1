using System.Runtime.CompilerServices;

namespace Clrscope.AspNetCore;

/// <summary>
/// Which requests are alike before their route is known. Sampling has a floor for each route, but decides when a request begins, and routing comes later. A path without its numbers
/// has a shape; the route of a shape is learned when a request ends. Paths of a shape that was never seen before count together with all others in the same folder, and all folders
/// have a few floors between them: ids and names in a path, of which each is new, do not take the budget that rare routes need, wherever in the path they are.
/// </summary>
internal sealed class PathShapes
{
    const int Places = 4096;
    const int UnknownKeys = 16;
    const int LongestWord = 15; // a longer part of a path with a digit in it is an id
    const ulong Start = 0xcbf29ce484222325, Prime = 0x100000001b3;

    // By shape: its upper half | the lower half of the hash of its route. 0: nothing known. Written as a whole, read as a whole.
    readonly ulong[] _routes = new ulong[Places];

    /// <summary>What the floor of a request belongs to. Requests of one route have one, as soon as their shape is known.</summary>
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    public ulong KeyOf(string method, string? path, out ulong shape)
    {
        shape = HashOf(method, path, out var folder);
        var known = Volatile.Read(ref _routes[Place(shape)]);
        return IsOf(known, shape) ? Mix((uint)known) : folder;
    }

    /// <summary>A request of this shape had this route.</summary>
    public void Learn(ulong shape, string method, string route)
    {
        ref var place = ref _routes[Place(shape)];
        if (!IsOf(Volatile.Read(ref place), shape)) Volatile.Write(ref place, shape & ~0xffffffffUL | (uint)HashOf(method, route));
    }

    static int Place(ulong shape) => (int)(shape % Places);

    static bool IsOf(ulong known, ulong shape) => known != 0 && known >> 32 == shape >> 32;

    static ulong Mix(ulong value) => (value ^ value >> 29) * 0xbf58476d1ce4e5b9UL ^ value >> 32;

    static ulong HashOf(string method, string text)
    {
        var hash = Start;
        foreach (var c in method) hash = (hash ^ c) * Prime;
        foreach (var c in text) hash = (hash ^ c) * Prime;
        return Mix(hash);
    }

    // Of a part of a path: numbers and ids are as good as any other; what is short and begins with a letter (v1, p2) is a name.
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    static ulong AddPart(ulong hash, ReadOnlySpan<char> part)
    {
        var digits = 0;
        foreach (var c in part) digits += char.IsAsciiDigit(c) ? 1 : 0;
        if (digits == part.Length || (digits > 0 && part.Length > LongestWord)) return (hash ^ '#') * Prime;
        var keeps = part.Length <= 3 && char.IsAsciiLetter(part[0]);
        foreach (var c in part)
        {
            if (keeps || !char.IsAsciiDigit(c)) hash = (hash ^ c) * Prime;
        }
        return hash;
    }

    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    static ulong HashOf(string method, string? path, out ulong folder)
    {
        var hash = Start ^ (method.Length > 0 ? method[0] : 0u) ^ (uint)method.Length << 8;
        var rest = path.AsSpan();
        folder = hash;
        while (rest.Length > 0)
        {
            folder = hash;
            var end = rest.IndexOf('/');
            var part = end < 0 ? rest : rest[..end];
            hash = (AddPart(hash, part) ^ '/') * Prime;
            rest = end < 0 ? [] : rest[(end + 1)..];
        }
        folder = Mix(Mix(folder + 1) % UnknownKeys + 1);
        return Mix(hash);
    }
}
