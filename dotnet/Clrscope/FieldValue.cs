using System.Globalization;

namespace Clrscope;

/// <summary>A field's value. Numbers are read without boxing; the boxes that the runtime makes for its listeners are reused.</summary>
public readonly struct FieldValue
{
    readonly long _bits; // numbers and truths; a double's bits
    readonly object? _object; // as the listener got it
    readonly TableField? _table;

    FieldValue(FieldKind kind, long bits, object? value, TableField? table)
    {
        Kind = kind;
        _bits = bits;
        _object = value;
        _table = table;
    }

    /// <summary>What it is.</summary>
    public FieldKind Kind { get; }

    internal static FieldKind KindOf(object? value) => From(value, null).Kind;

    internal static FieldValue From(object? value, TableField? table)
    {
        switch (value)
        {
            case null: return new(FieldKind.Missing, 0, null, null);
            case string: return new(FieldKind.Text, 0, value, null);
            case int number: return new(FieldKind.Int, number, value, table);
            case long number: return new(FieldKind.Int, number, value, table);
            case uint number: return Unsigned(number, value, table);
            case ulong number: return Unsigned(number, value, table);
            case ushort number: return Unsigned(number, value, table);
            case nint number: return Unsigned((ulong)number, value, table);
            case double number: return new(FieldKind.Double, BitConverter.DoubleToInt64Bits(number), value, null);
            case bool truth: return new(FieldKind.Bool, truth ? 1 : 0, value, null);
            case byte number: return Unsigned(number, value, table);
            case short number: return new(FieldKind.Int, number, value, table);
            case sbyte number: return new(FieldKind.Int, number, value, table);
            case nuint number: return Unsigned(number, value, table);
            case float number: return new(FieldKind.Double, BitConverter.DoubleToInt64Bits(number), value, null);
            case char letter: return new(FieldKind.UInt, letter, value, null);
            case decimal number: return new(FieldKind.Double, BitConverter.DoubleToInt64Bits((double)number), value, null);
            case DateTime: return new(FieldKind.Time, 0, value, null);
            case Guid: return new(FieldKind.Guid, 0, value, null);
            case byte[]: return new(FieldKind.Bytes, 0, value, null);
            case Enum: return new(FieldKind.Int, Convert.ToInt64(value, CultureInfo.InvariantCulture), value, null);
            default: return new(FieldKind.Object, 0, value, null);
        }
    }

    static FieldValue Unsigned(ulong number, object value, TableField? table)
    {
        if (table is null) return new(FieldKind.UInt, (long)number, value, null);
        if (table.Needs != 0 && (number & table.Needs) == 0) return new(FieldKind.UInt, 0, null, table);
        number = (number >> table.Shift) & table.Mask;
        return table.SignedBytes switch
        {
            1 => new(FieldKind.Int, (sbyte)number, null, table),
            2 => new(FieldKind.Int, (short)number, null, table),
            4 => new(FieldKind.Int, (int)number, null, table),
            8 => new(FieldKind.Int, (long)number, null, table),
            _ => new(FieldKind.UInt, (long)number, null, table),
        };
    }

    /// <summary>The value as a signed integer; throws if it is not an integer or does not fit.</summary>
    public long AsInt64() => Kind switch
    {
        FieldKind.Int or FieldKind.Bool => _bits,
        FieldKind.UInt => checked((long)(ulong)_bits),
        _ => throw Not("a whole number"),
    };

    /// <summary>The value as an unsigned integer; throws if it is not an integer or is negative.</summary>
    public ulong AsUInt64() => Kind switch
    {
        FieldKind.UInt or FieldKind.Bool => (ulong)_bits,
        FieldKind.Int => checked((ulong)_bits),
        _ => throw Not("a whole number"),
    };

    /// <summary>Any number as a double.</summary>
    public double AsDouble() => TryGetNumber(out var number) ? number : throw Not("a number");

    /// <summary>The value as a Boolean; numbers other than 0 are true.</summary>
    public bool AsBool() => Kind is FieldKind.Bool or FieldKind.Int or FieldKind.UInt ? _bits != 0 : throw Not("a truth");

    /// <summary>The string; throws if it is not a string. <see cref="ToString"/> converts any value.</summary>
    public string AsString() => Kind == FieldKind.Text ? (string)_object! : throw Not("a text");

    /// <summary>The value as a date and time.</summary>
    public DateTime AsTime() => Kind == FieldKind.Time ? (DateTime)_object! : throw Not("a time");

    /// <summary>A GUID.</summary>
    public Guid AsGuid() => Kind == FieldKind.Guid ? (Guid)_object! : throw Not("a GUID");

    /// <summary>Bytes.</summary>
    public ReadOnlySpan<byte> AsBytes() => Kind == FieldKind.Bytes ? (byte[])_object! : throw Not("bytes");

    /// <summary>The value as an object; boxes it if the runtime has not done so already.</summary>
    public object? AsObject() => _object ?? Kind switch { FieldKind.Int => _bits, FieldKind.UInt => (ulong)_bits, _ => null };

    /// <summary>Numbers and Booleans as a double.</summary>
    public bool TryGetNumber(out double number)
    {
        switch (Kind)
        {
            case FieldKind.Int or FieldKind.Bool:
                number = _bits;
                return true;
            case FieldKind.UInt:
                number = (ulong)_bits;
                return true;
            case FieldKind.Double:
                number = BitConverter.Int64BitsToDouble(_bits);
                return true;
            default:
                number = 0;
                return false;
        }
    }

    /// <summary>Writes the text that <see cref="ToString"/> makes, without making a string; false if it does not fit, or has to be made.</summary>
    public bool TryFormat(Span<char> text, out int written)
    {
        written = 0;
        if (Kind == FieldKind.Text) return Put((string)_object!, text, out written);
        if (_table?.Names is { } names)
        {
            if (names.Flags) return TryFormatFlags(names, text, out written);
            foreach (var (name, value) in names.Values)
                if (value == _bits) return Put(name, text, out written);
        }
        if (_table is { Hex: true })
            return text.Length > 18 && Put("0x", text, out _) && _bits.TryFormat(text[2..], out written, "x") && (written += 2) > 0;
        if (_object is ISpanFormattable formattable and not Enum) return formattable.TryFormat(text, out written, default, CultureInfo.InvariantCulture);
        if (_object is bool truth) return truth.TryFormat(text, out written);
        return Kind switch
        {
            FieldKind.Int => _bits.TryFormat(text, out written, default, CultureInfo.InvariantCulture),
            FieldKind.UInt => ((ulong)_bits).TryFormat(text, out written, default, CultureInfo.InvariantCulture),
            _ => false,
        };
    }

    /// <summary>As text; values of known enumerations by name, addresses in hexadecimal.</summary>
    public override string ToString()
    {
        if (Kind == FieldKind.Text) return (string)_object!;
        Span<char> text = stackalloc char[256];
        if (TryFormat(text, out var written)) return new string(text[..written]);
        if (_object is byte[] bytes) return Convert.ToHexString(bytes);
        return Convert.ToString(_object, CultureInfo.InvariantCulture) ?? "";
    }

    // The largest that fit first; a rest without a name makes the whole a number.
    bool TryFormatFlags(ValueNames names, Span<char> text, out int written)
    {
        written = 0;
        var rest = (ulong)_bits;
        var known = 0UL;
        foreach (var (_, value) in names.Values) known |= (ulong)value;
        if (rest == 0 || (rest & ~known) != 0)
        {
            foreach (var (name, value) in names.Values)
                if (value == 0 && rest == 0) return Put(name, text, out written);
            return rest.TryFormat(text, out written, default, CultureInfo.InvariantCulture);
        }
        foreach (var (name, value) in names.Values)
        {
            if (value == 0 || (rest & (ulong)value) != (ulong)value) continue;
            if (written > 0 && !Add(", ", text, ref written)) return false;
            if (!Add(name, text, ref written)) return false;
        }
        return true;
    }

    static bool Add(string part, Span<char> text, ref int written)
    {
        if (!part.AsSpan().TryCopyTo(text[written..])) return false;
        written += part.Length;
        return true;
    }

    static bool Put(string part, Span<char> text, out int written)
    {
        written = 0;
        return Add(part, text, ref written);
    }

    InvalidOperationException Not(string what) => new($"the field is {Kind}, not {what}");
}
