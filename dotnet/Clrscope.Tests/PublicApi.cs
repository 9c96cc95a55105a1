using System.Reflection;
using System.Text;

namespace Clrscope.Tests;

/// <summary>What users of an assembly can see of it, as text for its baseline.</summary>
static class PublicApi
{
    public static string Describe(Assembly assembly)
    {
        const BindingFlags Own = BindingFlags.Public | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly;
        var text = new StringBuilder();
        foreach (var type in assembly.GetExportedTypes().OrderBy(t => t.FullName, StringComparer.Ordinal))
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
