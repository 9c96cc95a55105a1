// Providers of the reader's choice: name, keywords, level. In the address as "Name:0x1:4", separated by commas.
import type {Provider, ProviderRequest} from '../../api/types';

export interface ProviderRow {
  name: string;
  keywords: string; // "0x1"; empty: all
  level: number; // 1 to 5
}

const kRuntime = 'Microsoft-Windows-DotNETRuntime';
const kLevels = ['Critical', 'Error', 'Warning', 'Informational', 'Verbose'];

export function readRows(text: string): ProviderRow[] {
  if (!text) return [];
  return text.split(',').map((part) => {
    const [name = '', keywords = '', level = '4'] = part.split(':');
    return {name, keywords, level: kLevels[Number(level) - 1] ? Number(level) : 4};
  });
}

export function writeRows(rows: ProviderRow[]): string {
  return rows.map((row) => `${row.name.replace(/[,:]/g, '')}:${row.keywords.replace(/[,:]/g, '')}:${row.level}`).join(',');
}

export function toProviders(rows: ProviderRow[]): ProviderRequest[] {
  return rows.filter((row) => row.name.trim()).map((row) => ({name: row.name.trim(), keywords: row.keywords || '0xffffffffffffffff', eventLevel: kLevels[row.level - 1]}));
}

function bitsOf(text: string): bigint {
  try {
    return BigInt(text || '0');
  } catch {
    return BigInt(0);
  }
}

interface RowProps {
  row: ProviderRow;
  index: number;
  known: Provider[];
  onChange: (row: ProviderRow) => void;
  onRemove: () => void;
}

function Row({row, index, known, onChange, onRemove}: RowProps) {
  const bits = bitsOf(row.keywords);
  const provider = known.find((one) => one.name === row.name);
  const toggle = (value: bigint) => {
    const next = (bits & value) === value ? bits & ~value : bits | value;
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
          <select value={String(row.level)} onChange={(event) => onChange({...row, level: Number(event.currentTarget.value)})}>
            {kLevels.map((level, i) => (
              <option key={level} value={String(i + 1)}>
                {level}
              </option>
            ))}
          </select>
        </label>
        <button type="button" aria-label={`Remove provider ${index + 1}`} onClick={onRemove}>
          Remove
        </button>
      </p>
      {provider?.summary ? <p class="dim">{provider.summary}</p> : null}
      {provider?.keywords.length ? (
        <div class="keywords" role="group" aria-label={`Keywords of ${row.name}`}>
          {provider.keywords.map((keyword) => {
            const value = bitsOf(keyword.value);
            return (
              <label key={keyword.name} title={keyword.value}>
                <input type="checkbox" checked={value !== BigInt(0) && (bits & value) === value} onChange={() => toggle(value)} /> {keyword.name}
              </label>
            );
          })}
        </div>
      ) : null}
    </fieldset>
  );
}

interface EditorProps {
  rows: ProviderRow[];
  known: Provider[];
  onChange: (rows: ProviderRow[]) => void;
}

export function ProviderEditor({rows, known, onChange}: EditorProps) {
  return (
    <>
      <p class="dim">Beside what the profile records. An EventSource has the name of its provider.</p>
      <datalist id="known-providers">
        {known.map((one) => (
          <option key={one.name} value={one.name} />
        ))}
      </datalist>
      {rows.map((row, i) => (
        <Row key={i} row={row} index={i} known={known} onChange={(next) => onChange(rows.map((one, at) => (at === i ? next : one)))} onRemove={() => onChange(rows.filter((_, at) => at !== i))} />
      ))}
      <button type="button" onClick={() => onChange([...rows, {name: rows.length ? '' : kRuntime, keywords: rows.length ? '' : '0x1', level: 4}])}>
        Add a provider
      </button>
    </>
  );
}
