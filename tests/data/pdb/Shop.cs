using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace Shop;

public static class Cart
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Total(IEnumerable<int> prices)
    {
        var sum = 0;
        foreach (var price in prices)
        {
            sum += price;
        }

        return sum;
    }

    public static async Task<int> Later(int amount)
    {
        await Task.Delay(amount);
        return Total([amount, amount]);
    }

    public static int Generated(int amount)
    {
        amount += 1;
#line 100 "Made/Elsewhere.cs"
        amount *= 2;
#line hidden
        amount -= 3;
#line default
        return amount;
    }

    public static int Empty() => 7;
}
