// The form that makes a new version of a configuration, and the table of all of them.
import {useState} from 'preact/hooks';
import type {ConfigurationChange, ConfigurationVersion} from '../../api/fleet-types';
import {formatNumber} from '../../ui/format';
import {type Column, Table} from '../../ui/table';
import {Time} from '../../ui/time';
import {Wrapped} from '../../ui/wrapped';

export const percentIn = (one: ConfigurationVersion): string => (one.percent >= 100 ? 'on all hosts' : `on ${one.percent} % of the hosts`);

const linesOf = (text: string): string[] => text.split('\n').map((line) => line.trim()).filter(Boolean);

type Body = Omit<ConfigurationChange, 'service' | 'basedOn'>;

export function ChangeForm({newest, isDisabled, onChange}: {newest?: ConfigurationVersion; isDisabled: boolean; onChange: (body: Body) => void}) {
  const [include, setInclude] = useState((newest?.include ?? []).join('\n'));
  const [exclude, setExclude] = useState((newest?.exclude ?? []).join('\n'));
  const [sample, setSample] = useState(newest?.sample === undefined || newest.sample === null ? '' : String(100 * newest.sample));
  const [budget, setBudget] = useState(String(newest?.budgetPercent ?? 1));
  const [percent, setPercent] = useState('100');
  const [comment, setComment] = useState('');
  const submit = () =>
    onChange({
      include: linesOf(include),
      exclude: linesOf(exclude),
      ...(sample.trim() ? {sample: Number(sample) / 100} : {}),
      budgetPercent: Number(budget),
      percent: Number(percent),
      ...(comment.trim() ? {comment: comment.trim()} : {}),
    });
  return (
    <form
      class="configuration"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <h2>Change</h2>
      <div class="bar">
        <label>
          Methods to time, one pattern per line
          <textarea name="include" rows={3} required value={include} onInput={(event) => setInclude(event.currentTarget.value)} />
        </label>
        <label>
          Methods not to time
          <textarea name="exclude" rows={3} value={exclude} onInput={(event) => setExclude(event.currentTarget.value)} />
        </label>
      </div>
      <div class="bar">
        <label>
          Sampled requests, % <input type="number" name="sample" min={0} max={100} step="any" placeholder="auto" value={sample} onInput={(event) => setSample(event.currentTarget.value)} />
        </label>
        <label>
          CPU budget, % <input type="number" name="budget" min={0.1} max={50} step="any" required value={budget} onInput={(event) => setBudget(event.currentTarget.value)} />
        </label>
        <label>
          Hosts, % <input type="number" name="percent" min={0} max={100} step={1} required value={percent} onInput={(event) => setPercent(event.currentTarget.value)} />
        </label>
        <label>
          Why <input type="text" name="comment" maxLength={500} value={comment} onInput={(event) => setComment(event.currentTarget.value)} />
        </label>
        <button type="submit" class="main" data-change disabled={isDisabled}>
          Change
        </button>
      </div>
    </form>
  );
}

const code = (lines: string[]) => (lines.length ? <Wrapped text={lines.join(', ').slice(0, 400)} /> : '');

export function HistoryTable({versions, isDisabled, onRollBack}: {versions: ConfigurationVersion[]; isDisabled: boolean; onRollBack: (version: number) => void}) {
  const columns: Column<ConfigurationVersion>[] = [
    {id: 'version', title: 'Version', as: 'number', value: (one) => one.version},
    {id: 'time', title: 'Time', value: (one) => one.time, show: (one) => <Time iso={one.time} />},
    {id: 'who', title: 'Who', value: (one) => one.who},
    {id: 'comment', title: 'Why', value: (one) => one.comment, show: (one) => <Wrapped text={one.comment} />},
    {id: 'percent', title: 'Hosts', as: 'number', value: (one) => one.percent, show: (one) => `${one.percent} %`},
    {id: 'processes', title: 'Processes now', as: 'number', value: (one) => one.processes, show: (one) => formatNumber(one.processes)},
    {id: 'include', title: 'Methods', as: 'code', value: (one) => one.include.join(), show: (one) => (one.include.length ? code(one.include) : 'as started')},
    {id: 'exclude', title: 'Not', as: 'code', value: (one) => one.exclude.join(), show: (one) => code(one.exclude)},
    {id: 'sample', title: 'Sampled', as: 'number', value: (one) => one.sample ?? -1, show: (one) => (one.sample === undefined || one.sample === null ? 'auto' : `${100 * one.sample} %`)},
    {id: 'budget', title: 'Budget', as: 'number', value: (one) => one.budgetPercent, show: (one) => `${one.budgetPercent} %`},
    {
      id: 'back',
      title: 'Roll back',
      value: (one) => one.version,
      show: (one) =>
        one === versions[0] ? (
          'newest'
        ) : (
          <button type="button" data-roll-back={one.version} disabled={isDisabled} onClick={() => onRollBack(one.version)}>
            Back to {one.version}
          </button>
        ),
    },
  ];
  return (
    <>
      <h2>History</h2>
      {versions.length ? <Table id="configurations" caption="Versions of the configuration, the newest first. A host has the newest version whose share of hosts it belongs to." rows={versions} columns={columns} rowKey={(one) => String(one.version)} /> : <p class="dim">No version yet.</p>}
      {versions.length && versions[0].include.length ? (
        <p>
          <button type="button" data-roll-back="0" disabled={isDisabled} onClick={() => onRollBack(0)}>
            Back to what hosts were started with
          </button>
        </p>
      ) : null}
    </>
  );
}
