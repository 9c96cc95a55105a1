// The range of time that all pages of a fleet server show.
import {kLasts, type Range} from '../../api/fleet';
import {setQuery} from '../../frame/router';

const kCustom = 'custom';

// Local time as a datetime-local input has it.
function inputTime(seconds: number): string {
  const time = new Date(seconds * 1000);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export function RangeChoice({range}: {range: Range}) {
  const isKnown = kLasts.some(([last]) => last === range.last);
  const choose = (value: string) => {
    if (value === kCustom) setQuery({last: undefined, from: Math.floor(range.from), to: Math.ceil(range.to)}, 'push');
    else setQuery({last: value === '1h' ? undefined : value, from: undefined, to: undefined}, 'push');
  };
  const bound = (name: 'from' | 'to', title: string) => (
    <input
      type="datetime-local"
      step="1"
      aria-label={title}
      value={inputTime(range[name])}
      onChange={(event) => {
        const seconds = new Date(event.currentTarget.value).getTime() / 1000;
        if (Number.isFinite(seconds)) setQuery({...range.query, [name]: seconds}, 'push');
      }}
    />
  );
  return (
    <div class="range-choice">
      <label>
        Range{' '}
        <select data-range value={range.last || kCustom} onChange={(event) => choose(event.currentTarget.value)}>
          {kLasts.map(([last, title]) => (
            <option key={last} value={last}>
              {title}
            </option>
          ))}
          {range.last && !isKnown ? <option value={range.last}>last {range.last}</option> : null}
          <option value={kCustom}>from … to …</option>
        </select>
      </label>
      {range.last ? null : (
        <>
          {bound('from', 'Begin of the range')} – {bound('to', 'End of the range')}
        </>
      )}
    </div>
  );
}
