// Copies text to the clipboard.

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Not allowed over plain HTTP from afar: the old way still is.
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'away';
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
