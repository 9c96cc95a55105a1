using System.Runtime.CompilerServices;
using System.Text;

namespace Samples.Symptoms;

/// <summary>
/// Reads the signatures of all methods of the core library again and again and compares them with those it read first, while another thread builds strings.
/// Whoever changes the metadata of the core library meanwhile must not disturb it.
/// </summary>
static class Signatures
{
    const int FirstMethod = 0x06000001;

    static long s_reads, s_wrong;

    public static void Run(Stage stage)
    {
        var module = typeof(object).Module;
        var signatures = new List<byte[]>();
        while (Read(FirstMethod + signatures.Count) is { } signature) signatures.Add(signature);
        var expected = signatures.ToArray();
        stage.Work("reader", () => Compare(stage, expected));
        stage.Work("builder", () => stage.Every(200, Build));
        stage.Ready(new { methods = expected.Length });
        stage.FinishWork();
        stage.Done(new { reads = s_reads, wrong = s_wrong });

        byte[]? Read(int token)
        {
            try
            {
                return module.ResolveSignature(token);
            }
            catch (ArgumentException)
            {
                return null;
            }
        }
    }

    /// <summary>Calls nothing of the class library but ResolveSignature: other methods may be about to be compiled again, which would make it wait.</summary>
    static void Compare(Stage stage, byte[][] expected)
    {
        var module = typeof(object).Module;
        while (!stage.Ending)
            for (var i = 0; i < expected.Length; ++i)
            {
                if (!IsSame(module.ResolveSignature(FirstMethod + i), expected[i])) ++s_wrong;
                ++s_reads;
            }
    }

    static bool IsSame(byte[] one, byte[] other)
    {
        if (one.Length != other.Length) return false;
        for (var i = 0; i < one.Length; ++i)
            if (one[i] != other[i]) return false;
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Build()
    {
        var text = new StringBuilder();
        for (var i = 0; i < 20; ++i) text.Append(i).Append('x').Insert(0, "y");
        if (text.Length < 20) throw new InvalidOperationException(text.ToString());
    }
}
