namespace Clrscope;

/// <summary><c>*</c> is any text, <c>?</c> any one character; everything else is itself, case included.</summary>
internal static class Glob
{
    public static bool Matches(ReadOnlySpan<char> pattern, ReadOnlySpan<char> text)
    {
        int p = 0, t = 0, star = -1, resume = 0;
        while (t < text.Length)
        {
            if (p < pattern.Length && (pattern[p] == '?' || (pattern[p] != '*' && pattern[p] == text[t])))
            {
                ++p;
                ++t;
            }
            else if (p < pattern.Length && pattern[p] == '*')
            {
                star = p++;
                resume = t;
            }
            else if (star >= 0)
            {
                p = star + 1;
                t = ++resume;
            }
            else
            {
                return false;
            }
        }
        while (p < pattern.Length && pattern[p] == '*') ++p;
        return p == pattern.Length;
    }

    public static bool IsPattern(string text) => text.AsSpan().ContainsAny('*', '?');
}
