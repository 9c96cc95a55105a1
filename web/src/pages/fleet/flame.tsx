// The merged call tree of the requests of a route, all of them or a band of percentiles.
import {useMemo} from 'preact/hooks';
import {useAnswer, useApi} from '../../api/answer';
import {askFor, flameOfFleet, type Range} from '../../api/fleet';
import type {FleetFlame} from '../../api/fleet-types';
import type {Query} from '../../frame/router';
import {formatMs, formatNumber} from '../../ui/format';
import {Age, Loaded, Notice} from '../../ui/state';
import {FlameView} from '../../views/flame/view';
import {CompareLinks, SelectionPage, useWeight} from './parts';
import {Bands} from './routes';

export function FleetFlamePage() {
  return (
    <SelectionPage titleOf={(route) => `Flame graph of ${route || 'all routes'}`}>
      {({range, selection, service, route}) => (
        <>
          <CompareLinks range={range} selection={selection} />
          <Content range={range} selection={selection} title={route || service} />
        </>
      )}
    </SelectionPage>
  );
}

const summaryOf = (flame: FleetFlame, isCpu: boolean): string => {
  const requests = `${formatNumber(flame.requests)} sampled requests of ${formatMs(flame.shortestMs)} to ${formatMs(flame.longestMs)} merged`;
  if (isCpu) return `${requests}, ${formatNumber(flame.samples)} CPU samples, ${formatMs(flame.totalMs)} CPU time, with all methods of their stacks.`;
  return `${requests}, ${formatNumber(flame.spans)} calls, ${formatMs(flame.totalMs)} running time. Waiting is not counted.`;
};

function Content({range, selection, title}: {range: Range; selection: Query; title: string}) {
  const {isCpu, query, choice} = useWeight();
  const api = useApi();
  const answer = useAnswer<FleetFlame>(askFor('fleet/flame', range, {...selection, ...query}));
  const json = useMemo(() => (answer.data ? flameOfFleet(answer.data, title) : undefined), [answer.data, title]);
  return (
    <>
      <Bands selection={selection} />
      {choice}
      <p class="bar">
        <button type="button" data-refresh aria-busy={answer.isLoading} onClick={answer.refresh}>
          Refresh
        </button>
        <Age at={answer.at} />
        <a class="button" href={api.address(askFor('fleet/pprof', range, {...selection, ...query}))} download data-pprof>
          Download pprof
        </a>
      </p>
      <Loaded answer={answer} waiting={isCpu ? 'Reading the CPU samples …' : 'Reading the spans …'}>
        {(flame) =>
          flame.requests === 0 || !json ? (
            <Notice hint="Choose a longer range or another band.">{isCpu ? 'No CPU sample of such a request is stored.' : 'No sampled request matches.'}</Notice>
          ) : (
            <div data-flame={flame.requests}>
              <FlameView json={json} summary={summaryOf(flame, isCpu)} />
            </div>
          )
        }
      </Loaded>
    </>
  );
}
