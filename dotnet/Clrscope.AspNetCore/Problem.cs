using System.Text.Json;
using Microsoft.AspNetCore.Http;

namespace Clrscope.AspNetCore;

/// <summary>What we answer ourselves, in the controller's own shape: application/problem+json with a hint beside.</summary>
internal static class Problem
{
    public static Task WriteAsync(HttpContext context, Exception failure)
    {
        var told = failure as ControllerException ?? failure.InnerException as ControllerException;
        return WriteAsync(context, StatusCodes.Status503ServiceUnavailable, told?.Message ?? $"the controller does not answer: {failure.Message}",
            told?.Hint is { Length: > 0 } hint ? hint : "ask again: it is started anew", told?.RetryAfter ?? default);
    }

    public static async Task WriteAsync(HttpContext context, int status, string detail, string hint, TimeSpan retryAfter = default)
    {
        using var text = new MemoryStream();
        using (var json = new Utf8JsonWriter(text))
        {
            json.WriteStartObject();
            json.WriteString("type", "about:blank");
            json.WriteString("title", status switch { 403 => "Forbidden", 503 => "Service Unavailable", _ => "Error" });
            json.WriteNumber("status", status);
            json.WriteString("detail", detail);
            if (hint.Length > 0) json.WriteString("hint", hint);
            json.WriteEndObject();
        }
        try
        {
            context.Response.Clear();
            context.Response.StatusCode = status;
            context.Response.ContentType = "application/problem+json";
            context.Response.Headers.CacheControl = "no-store";
            if (retryAfter > TimeSpan.Zero) context.Response.Headers.RetryAfter = $"{Math.Ceiling(retryAfter.TotalSeconds)}";
            await context.Response.Body.WriteAsync(text.GetBuffer().AsMemory(0, (int)text.Length), context.RequestAborted).ConfigureAwait(false);
        }
        catch (Exception) when (context.RequestAborted.IsCancellationRequested || context.Response.HasStarted) { } // nobody is left to be told
    }
}
