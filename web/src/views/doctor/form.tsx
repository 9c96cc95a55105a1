// What to examine: a good default, everything else folded away.
import type {FindingInfo} from '../../api/types';
import {formatMs} from '../../ui/format';
import {Fold, type OpenSet} from '../../ui/fold';

export const kSeconds = 10;
const kMostSeconds = 3600;

export interface Choice {
  seconds: number;
  only: string[]; // ids; none: all
  settings: Record<string, string>; // "CS1501.perSecond" → "10"
}

export function choiceOf(seconds: string, only: string, set: string): Choice {
  const settings = set.split(',').flatMap((one): [string, string][] => {
    const at = one.indexOf('=');
    return at > 0 ? [[one.slice(0, at), one.slice(at + 1)]] : [];
  });
  return {seconds: Math.min(kMostSeconds, Math.max(1, Math.round(Number(seconds)) || kSeconds)), only: only.split(',').filter(Boolean), settings: Object.fromEntries(settings)};
}

export const settingsText = (settings: Record<string, string>): string =>
  Object.entries(settings)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${value}`)
    .join(',');

interface FormProps {
  infos: FindingInfo[];
  choice: Choice;
  open: OpenSet;
  isBusy: boolean;
  label: string;
  onChange: (choice: Choice) => void;
  onStart: () => void;
}

export function ExamineForm({infos, choice, open, isBusy, label, onChange, onStart}: FormProps) {
  const isChosen = (id: string) => !choice.only.length || choice.only.includes(id);
  const choose = (id: string, isOn: boolean) => {
    const chosen = infos.map((one) => one.id).filter((one) => (one === id ? isOn : isChosen(one)));
    if (chosen.length) onChange({...choice, only: chosen.length === infos.length ? [] : chosen});
  };
  const chosen = infos.filter((one) => isChosen(one.id));
  const tooShort = chosen.filter((one) => one.durationMs > choice.seconds * 1000);
  return (
    <form
      class="examine"
      onSubmit={(event) => {
        event.preventDefault();
        onStart();
      }}
    >
      <div class="bar">
        <label>
          Watch for
          <input type="number" name="seconds" min={1} max={kMostSeconds} value={choice.seconds} onChange={(event) => onChange({...choice, seconds: Number(event.currentTarget.value) || kSeconds})} />
          seconds
        </label>
        <button type="submit" class="main" data-start disabled={isBusy}>
          {isBusy ? 'Starting …' : label}
        </button>
        <span class="dim">The process goes on working; events and samples cost it a little CPU.</span>
      </div>
      <Fold id="choose" open={open} summary={`Examinations: ${chosen.length === infos.length ? `all ${infos.length}` : `${chosen.length} of ${infos.length}`}${Object.keys(choice.settings).length ? ', thresholds changed' : ''}`}>
        <p class="bar">
          <button type="button" disabled={!choice.only.length} onClick={() => onChange({...choice, only: []})}>
            Choose all
          </button>
          <button type="button" onClick={() => onChange({...choice, only: infos.filter((one) => one.needs === 'memory' || one.needs === 'process').map((one) => one.id)})}>
            Only those without events and samples
          </button>
        </p>
        <ul class="examinations">
          {infos.map((info) => (
            <li key={info.id}>
              <label>
                <input type="checkbox" checked={isChosen(info.id)} onChange={(event) => choose(info.id, event.currentTarget.checked)} /> <b>{info.name}</b> <span class="dim">{info.id}</span>
              </label>
              <p>{info.description}</p>
              <p class="dim">
                Needs {info.needs}
                {info.durationMs ? `, watches for ${formatMs(info.durationMs)} or more` : ''}. Price: {info.price}. Rights: {info.rights}.
              </p>
              {info.parameters.map((one) => {
                const name = `${info.id}.${one.name}`;
                return (
                  <label class="parameter" key={name}>
                    {one.meaning}
                    <input
                      type="number"
                      step="any"
                      name={name}
                      placeholder={one.default === null ? '' : String(one.default)}
                      value={choice.settings[name] ?? ''}
                      onChange={(event) => {
                        const {[name]: _old, ...others} = choice.settings;
                        const value = event.currentTarget.value;
                        onChange({...choice, settings: value === '' ? others : {...others, [name]: value}});
                      }}
                    />
                  </label>
                );
              })}
            </li>
          ))}
        </ul>
      </Fold>
      {tooShort.length ? <p class="warn">Too short for {tooShort.map((one) => `${one.name} (${formatMs(one.durationMs)})`).join(', ')}.</p> : null}
    </form>
  );
}
