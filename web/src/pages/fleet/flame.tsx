// The merged call tree of the requests of a route, all of them or a band of percentiles.
import {useMemo} from 'preact/hooks';
import {useAnswer} from '../../api/answer';
import {askFor, flameOfFleet, type Range, selectionOf, useRange} from '../../api/fleet';
import type {FleetFlame} from '../../api/fleet-types';
import {type Query, usePlace} from '../../frame/router';
import {formatMs, formatNumber} from '../../ui/format';
import {Age, Loaded, Notice} from '../../ui/state';
import {FlameView} from '../../views/flame/view';
import {OfService, Trail} from './parts';
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
            <Content range={range} selection={selection} title={route || service} />
          </div>
        )}
      </OfService>
    </>
  );
}

function Content({range, selection, title}: {range: Range; selection: Query; title: string}) {
  const answer = useAnswer<FleetFlame>(askFor('fleet/flame', range, selection));
  const json = useMemo(() => (answer.data ? flameOfFleet(answer.data, title) : undefined), [answer.data, title]);
  return (
    <>
      <Bands selection={selection} />
      <p class="bar">
        <button type="button" data-refresh aria-busy={answer.isLoading} onClick={answer.refresh}>
          Refresh
        </button>
        <Age at={answer.at} />
      </p>
      <Loaded answer={answer} waiting="Reading the spans …">
        {(flame) =>
          flame.requests === 0 || !json ? (
            <Notice hint="Choose a longer range or another band.">No sampled request matches.</Notice>
          ) : (
            <div data-flame={flame.requests}>
              <FlameView json={json} summary={`${formatNumber(flame.requests)} sampled requests of ${formatMs(flame.shortestMs)} to ${formatMs(flame.longestMs)} merged, ${formatNumber(flame.spans)} calls, ${formatMs(flame.totalMs)} running time. Waiting is not counted.`} />
            </div>
          )
        }
      </Loaded>
    </>
  );
}
