// The merged call tree of the requests of a route, all of them or a band of percentiles.
import {useMemo} from 'preact/hooks';
import {useAnswer} from '../../api/answer';
import {askFor, flameOfFleet, type Range, selectionOf, useRange} from '../../api/fleet';
import type {FleetFlame} from '../../api/fleet-types';
import {type Query, useParam, usePlace} from '../../frame/router';
import {formatMs, formatNumber} from '../../ui/format';
import {Age, Loaded, Notice} from '../../ui/state';
import {FlameView} from '../../views/flame/view';
import {CompareLinks, OfService, Trail} from './parts';
import {Bands} from './routes';

export function FleetFlamePage() {
  const range = useRange();
  const selection = selectionOf(usePlace());
  const route = String(selection.route ?? '');
  return (
    <>
      <h1>Flame graph of {route || 'all routes'}</h1>
      <OfService range={range}>
        {(service) => (
          <div class="request-profile">
            <Trail service={service} route={route} />
            <CompareLinks range={range} selection={selection} />
            <Content range={range} selection={selection} title={route || service} />
          </div>
        )}
      </OfService>
    </>
  );
}

const kWeights: [name: string, words: string][] = [
  ['running', 'Running time of measured methods'],
  ['cpu', 'CPU time, all methods'],
];

const summaryOf = (flame: FleetFlame, byCpu: boolean): string => {
  const requests = `${formatNumber(flame.requests)} sampled requests of ${formatMs(flame.shortestMs)} to ${formatMs(flame.longestMs)} merged`;
  if (byCpu) return `${requests}, ${formatNumber(flame.samples)} CPU samples, ${formatMs(flame.totalMs)} CPU time, with all methods of their stacks.`;
  return `${requests}, ${formatNumber(flame.spans)} calls, ${formatMs(flame.totalMs)} running time. Waiting is not counted.`;
};

function Content({range, selection, title}: {range: Range; selection: Query; title: string}) {
  const [by, setBy] = useParam('by');
  const byCpu = by === 'cpu';
  const answer = useAnswer<FleetFlame>(askFor('fleet/flame', range, {...selection, by: byCpu ? 'cpu' : undefined}));
  const json = useMemo(() => (answer.data ? flameOfFleet(answer.data, title) : undefined), [answer.data, title]);
  return (
    <>
      <Bands selection={selection} />
      <p class="switch" role="group" aria-label="Flame graph of">
        {kWeights.map(([name, words]) => (
          <button key={name} type="button" data-by={name} aria-pressed={byCpu === (name === 'cpu')} onClick={() => setBy(name === 'cpu' ? name : '')}>
            {words}
          </button>
        ))}
      </p>
      <p class="bar">
        <button type="button" data-refresh aria-busy={answer.isLoading} onClick={answer.refresh}>
          Refresh
        </button>
        <Age at={answer.at} />
      </p>
      <Loaded answer={answer} waiting={byCpu ? 'Reading the CPU samples …' : 'Reading the spans …'}>
        {(flame) =>
          flame.requests === 0 || !json ? (
            <Notice hint="Choose a longer range or another band.">{byCpu ? 'No CPU sample of such a request is stored.' : 'No sampled request matches.'}</Notice>
          ) : (
            <div data-flame={flame.requests}>
              <FlameView json={json} summary={summaryOf(flame, byCpu)} />
            </div>
          )
        }
      </Loaded>
    </>
  );
}
