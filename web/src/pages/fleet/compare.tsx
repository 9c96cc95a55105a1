// Two versions of a service, or two ranges of time: which routes changed, and where in the code. The address holds both sides.
import {useMemo} from 'preact/hooks';
import {useAnswer} from '../../api/answer';
import {askFor, baseOf, flamesOfChange, kLasts, kNoBase, lengthOf, type Range, withoutBand} from '../../api/fleet';
import type {FleetComparison, FleetFlameChange} from '../../api/fleet-types';
import {addressOf, type Query, setQuery, useParam, usePlace} from '../../frame/router';
import {formatMs, formatNumber, formatSeconds, localTime} from '../../ui/format';
import {Age, Loaded, Notice} from '../../ui/state';
import {Wrapped} from '../../ui/wrapped';
import {ChangeTable, VerdictMark} from '../../views/fleet/changes';
import {FlameView} from '../../views/flame/view';
import {SelectionPage, useServices, useWeight, versionPair} from './parts';
import {Bands} from './routes';

export function FleetComparePage() {
  const base = baseOf(usePlace());
  return (
    <SelectionPage titleOf={() => 'Compare'}>
      {({range, selection, service, route}) => (
        <>
          <Against range={range} selection={selection} base={base} />
          {base ? (
            <>
              <p class="lead" data-sides>
                Before: <Wrapped text={wordsOf({...selection, ...base}, range, base)} />. After: <Wrapped text={wordsOf(selection, range)} />.
              </p>
              <Changes range={range} selection={selection} base={base} />
              <h2>Where the time went</h2>
              <Difference range={range} selection={selection} base={base} title={route || service} />
            </>
          ) : (
            <Notice>Choose what to compare with.</Notice>
          )}
        </>
      )}
    </SelectionPage>
  );
}

interface PartProps {
  range: Range;
  selection: Query;
  base: Query;
}

const spanOf = (shift: string): string => (lengthOf(shift) ? formatSeconds(lengthOf(shift)) : shift);
const timesOf = (from: number, to: number): string => `${localTime(from * 1000)} to ${localTime(to * 1000)}`;

// "version 1.1, the last hour".
function wordsOf(side: Query, range: Range, base?: Query): string {
  const version = base?.baseVersion ?? side.version;
  const host = base?.baseHost ?? side.host;
  const own = range.last ? `the ${kLasts.find(([last]) => last === range.last)?.[1] ?? `last ${spanOf(range.last)}`}` : timesOf(range.from, range.to);
  const when = base?.baseFrom ? timesOf(Number(base.baseFrom), Number(base.baseTo)) : own;
  return [version ? `version ${version}` : 'any version', host ? `host ${host}` : '', when, base?.baseShift ? `${spanOf(String(base.baseShift))} earlier` : ''].filter(Boolean).join(', ');
}

const kShifts: [shift: string, title: string][] = [
  ['1h', '1 hour earlier'],
  ['1d', '1 day earlier'],
  ['7d', '7 days earlier'],
];

// The choice of the other side.
function Against({range, selection, base}: {range: Range; selection: Query; base?: Query}) {
  const services = useServices(range);
  const service = services.data?.services.find((one) => one.service === selection.service);
  const versions = (service?.versions ?? []).filter((one) => one && one !== selection.version);
  const chosen = base?.baseVersion ? `version ${base.baseVersion}` : base?.baseShift ? `shift ${base.baseShift}` : base ? 'other' : '';
  const pair = versionPair(service?.versions ?? [], String(selection.version ?? ''));
  const choose = (value: string) => {
    const [kind, what] = [value.slice(0, value.indexOf(' ')), value.slice(value.indexOf(' ') + 1)];
    if (kind === 'version') setQuery({...kNoBase, version: selection.version ?? (pair?.version === what ? undefined : pair?.version), baseVersion: what}, 'push');
    else if (kind === 'shift') setQuery({...kNoBase, baseShift: what}, 'push');
  };
  const options = [...versions.map((one) => [`version ${one}`, `version ${one}`]), ...kShifts.map(([shift, title]) => [`shift ${shift}`, title])];
  return (
    <p class="bar">
      <label>
        Compare with{' '}
        <select data-against value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
          {chosen ? null : <option value="">choose</option>}
          {chosen && !options.some(([value]) => value === chosen) ? <option value={chosen}>{base?.baseVersion ? chosen : base?.baseShift ? `${spanOf(String(base.baseShift))} earlier` : 'another range or host'}</option> : null}
          {options.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {base?.baseVersion && selection.version ? (
        <button type="button" data-swap title="Before becomes after" onClick={() => setQuery({version: base.baseVersion, baseVersion: selection.version}, 'push')}>
          Swap
        </button>
      ) : null}
    </p>
  );
}

const Pair = ({name, before, after}: {name: string; before: number; after: number}) => (
  <span class="pair">
    {name} {formatMs(before)} → {formatMs(after)}
  </span>
);

function Changes({range, selection, base}: PartProps) {
  const [by] = useParam('by');
  const answer = useAnswer<FleetComparison>(askFor('fleet/compare', range, {...withoutBand(selection), ...base}));
  return (
    <>
      <p class="bar">
        <button type="button" data-refresh aria-busy={answer.isLoading} onClick={answer.refresh}>
          Refresh
        </button>
        <Age at={answer.at} />
      </p>
      <Loaded answer={answer} waiting="Comparing …">
        {({overall, routes}) =>
          routes.length === 0 ? (
            <Notice hint="Choose a longer range, or other filters.">No requests match on either side.</Notice>
          ) : (
            <>
              <p data-overall={overall.verdict}>
                All requests: {overall.verdict === 'same' ? null : <><VerdictMark verdict={overall.verdict} />, </>}
                {overall.reason}. {formatNumber(overall.before.requests)} requests before, {formatNumber(overall.after.requests)} after; <Pair name="p50" before={overall.before.p50Ms} after={overall.after.p50Ms} />, <Pair name="p95" before={overall.before.p95Ms} after={overall.after.p95Ms} />, <Pair name="p99" before={overall.before.p99Ms} after={overall.after.p99Ms} />.
              </p>
              <ChangeTable routes={routes} hrefOf={(route) => addressOf('/fleet/compare', {...range.query, ...selection, ...base, by, route})} />
            </>
          )
        }
      </Loaded>
    </>
  );
}

const each = (totalMs: number, requests: number): string => (requests > 0 ? formatMs(totalMs / requests) : '–');

function Difference({range, selection, base, title}: PartProps & {title: string}) {
  const {isCpu, query, choice} = useWeight();
  const answer = useAnswer<FleetFlameChange>(askFor('fleet/compare/flame', range, {...selection, ...base, ...query}));
  const flames = useMemo(() => (answer.data ? flamesOfChange(answer.data, title) : undefined), [answer.data, title]);
  return (
    <>
      <Bands selection={selection} />
      {choice}
      <Loaded answer={answer} waiting="Comparing the call trees …">
        {(data) =>
          data.beforeRequests === 0 || data.afterRequests === 0 || !flames ? (
            <Notice hint="Choose a longer range or another band.">No sampled request matches {data.beforeRequests === 0 ? 'before' : 'after'}.</Notice>
          ) : (
            <div data-difference={data.name.length}>
              <FlameView
                json={flames.after}
                other={flames.before}
                summary={`${formatNumber(data.beforeRequests)} sampled requests before with ${each(data.beforeTotalMs, data.beforeRequests)} ${isCpu ? 'CPU' : 'running'} time each, ${formatNumber(data.afterRequests)} after with ${each(data.afterTotalMs, data.afterRequests)}. Drawn is after; orange has a larger share of the time than before, blue a smaller one.`}
              />
            </div>
          )
        }
      </Loaded>
    </>
  );
}
