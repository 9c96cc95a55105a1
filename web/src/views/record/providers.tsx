// Providers of the reader's choice: name, keywords, level. The runtime's own keywords are known by name.

export interface Keyword {
  name: string;
  bits: bigint;
}

export interface ProviderRow {
  name: string;
  keywords: string; // "0x1"
  level: string;
}

export interface ProviderBody {
  name: string;
  keywords: string;
  eventLevel: string;
}

const kRuntime = 'Microsoft-Windows-DotNETRuntime';
const kLevels = ['Critical', 'Error', 'Warning', 'Informational', 'Verbose'];
const kSuggested = [kRuntime, 'System.Net.Http', 'System.Net.Sockets', 'System.Threading.Tasks.TplEventSource', 'Microsoft-AspNetCore-Server-Kestrel', 'Microsoft-Extensions-Logging', 'Microsoft-Diagnostics-DiagnosticSource'];

export function toProviders(rows: ProviderRow[]): ProviderBody[] {
  return rows.filter((row) => row.name.trim()).map((row) => ({name: row.name.trim(), keywords: row.keywords || '0xffffffffffffffff', eventLevel: row.level}));
}

function bitsOf(text: string): bigint {
  try {
    return BigInt(text || '0');
  } catch {
    return 0n;
  }
}

function Row({row, index, keywords, onChange, onRemove}: {row: ProviderRow; index: number; keywords: Keyword[]; onChange: (row: ProviderRow) => void; onRemove: () => void}) {
  const bits = bitsOf(row.keywords);
  const toggle = (keyword: Keyword) => {
    const next = (bits & keyword.bits) === keyword.bits ? bits & ~keyword.bits : bits | keyword.bits;
    onChange({...row, keywords: `0x${next.toString(16)}`});
  };
  return (
    <fieldset class="provider">
      <legend>Provider {index + 1}</legend>
      <p class="bar">
        <label>
          Name <input type="text" list="known-providers" size={36} value={row.name} onInput={(event) => onChange({...row, name: event.currentTarget.value})} />
        </label>
        <label>
          Keywords <input type="text" class="mono" size={20} value={row.keywords} placeholder="all" onInput={(event) => onChange({...row, keywords: event.currentTarget.value})} />
        </label>
        <label>
          Level{' '}
          <select value={row.level} onChange={(event) => onChange({...row, level: event.currentTarget.value})}>
            {kLevels.map((level) => (
              <option value={level}>{level}</option>
            ))}
          </select>
        </label>
        <button type="button" onClick={onRemove}>
          Remove
        </button>
      </p>
      {row.name === kRuntime ? (
        <p class="keywords">
          {keywords.map((keyword) => (
            <label>
              <input type="checkbox" checked={keyword.bits !== 0n && (bits & keyword.bits) === keyword.bits} onChange={() => toggle(keyword)} /> {keyword.name}
            </label>
          ))}
        </p>
      ) : null}
    </fieldset>
  );
}

export function ProviderEditor({rows, keywords, onChange}: {rows: ProviderRow[]; keywords: Keyword[]; onChange: (rows: ProviderRow[]) => void}) {
  return (
    <details class="providers">
      <summary>Providers of your own choice{rows.length ? `: ${rows.length}` : ''}</summary>
      <p class="dim">Beside what the profile records. An EventSource has the name of its provider.</p>
      <datalist id="known-providers">
        {kSuggested.map((name) => (
          <option value={name} />
        ))}
      </datalist>
      {rows.map((row, i) => (
        <Row key={i} row={row} index={i} keywords={keywords} onChange={(next) => onChange(rows.map((one, at) => (at === i ? next : one)))} onRemove={() => onChange(rows.filter((_, at) => at !== i))} />
      ))}
      <button type="button" onClick={() => onChange([...rows, {name: rows.length ? '' : kRuntime, keywords: rows.length ? '' : '0x1', level: 'Informational'}])}>
        Add a provider
      </button>
    </details>
  );
}
