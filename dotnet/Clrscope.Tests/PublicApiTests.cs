using System.Reflection;
using System.Text;
using Xunit;

namespace Clrscope.Tests;

public class PublicApiTests
{
    [Fact]
    public void IsWhatTheBaselineSays()
    {
        using var stream = typeof(PublicApiTests).Assembly.GetManifestResourceStream("PublicApi.txt")!;
        using var reader = new StreamReader(stream);
        // Wanted? tools/dotnet_tests --update-api writes the new baseline.
        Assert.Equal(reader.ReadToEnd().Split('\n'), Describe().Split('\n'));
    }

    [Fact]
    public void NeedsNothingButTheFramework() =>
        Assert.All(typeof(Session).Assembly.GetReferencedAssemblies(), name => Assert.StartsWith("System.", name.Name));

    public static string Describe()
    {
        const BindingFlags Own = BindingFlags.Public | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly;
        var text = new StringBuilder();
        foreach (var type in typeof(Session).Assembly.GetExportedTypes().OrderBy(t => t.FullName, StringComparer.Ordinal))
        {
            text.Append($"{(type.IsEnum ? "enum" : type.IsValueType ? "struct" : typeof(Delegate).IsAssignableFrom(type) ? "delegate" : "class")} {type}\n");
            var members = type.GetMembers(Own).Where(m => m is not MethodInfo { IsSpecialName: true } || m.Name.StartsWith("op_"));
            foreach (var line in members.Where(m => !m.Name.Contains('<')).Select(Describe).Order(StringComparer.Ordinal)) text.Append($"  {line}\n");
        }
        return text.ToString();
    }

    static string Describe(MemberInfo member) => member switch
    {
        PropertyInfo p => $"{p} {{{(p.GetMethod?.IsPublic == true ? " get;" : "")}{(p.SetMethod?.IsPublic == true ? " set;" : "")} }}",
        FieldInfo { IsLiteral: true } f => $"{f} = {f.GetRawConstantValue()}",
        _ => member.ToString()!,
    };
}
