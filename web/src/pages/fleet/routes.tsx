// Routes of a service with their percentiles, over time too; or one route, with its slowest requests.
import {useAnswer} from '../../api/answer';
import {askFor, everyMs, kBands, listedOf, type Range, routeOf, shareOf, stepOf, withoutBand} from '../../api/fleet';
import type {FleetRequests, FleetSeriesAnswer} from '../../api/fleet-types';
import {addressOf, type Query, setQuery, useParam} from '../../frame/router';
import {rangeStart} from '../../ui/chart';
import {useOpenParam} from '../../ui/fold';
import {formatMs, formatNumber, formatPercent} from '../../ui/format';
import {Age, Loaded, Notice} from '../../ui/state';
import {Wrapped} from '../../ui/wrapped';
import {kMostLines, kPercentiles, LatencyChart, linesOf, type Percentile} from '../../views/fleet/latency';
import {RequestTable, RouteTable} from '../../views/requests/tables';
import {CompareLinks, NoRequests, SelectionPage} from './parts';

const kListed = 50; // requests

export function FleetRoutesPage() {
  return (
    <SelectionPage titleOf={(route) => (route ? 'Route' : 'Routes')}>
      {({range, selection, route}) => (
        <>
          {route ? (
            <h2 class="mono" data-one-route={route}>
              <Wrapped text={route} />
            </h2>
          ) : null}
          <CompareLinks range={range} selection={selection} />
          <OverTime range={range} selection={selection} />
          {route ? <OneRoute range={range} selection={selection} /> : <AllRoutes range={range} selection={selection} />}
        </>
      )}
    </SelectionPage>
  );
}

interface PartProps {
  range: Range;
  selection: Query;
}

const kGroups: [by: string, title: string][] = [
  ['', 'nothing: p50, p95, p99'],
  ['version', 'versions'],
  ['host', 'hosts'],
  ['route', 'routes'],
  ['status', 'status codes'],
];

// When the first step with requests begins.
const firstOf = ({series}: FleetSeriesAnswer): number => Math.min(...series.map((one) => Date.parse(one.points?.[0]?.time ?? '')).filter(Number.isFinite));

function OverTime({range, selection}: PartProps) {
  const [by, setBy] = useParam('by');
  const [chosen, setChosen] = useParam('percentile', 'p99');
  const open = useOpenParam('open');
  const step = stepOf(range.seconds);
  const percentile: Percentile = kPercentiles.find((one) => one === chosen) ?? 'p99';
  const isGrouped = kGroups.some(([name]) => name === by) && by !== '';
  const answer = useAnswer<FleetSeriesAnswer>(askFor('fleet/series', range, {...withoutBand(selection), by: isGrouped ? by : 'service', step: `${step}s`}), {everyMs: everyMs(range)});
  const to = range.last ? (answer.at || Date.now()) : range.to * 1000;
  return (
    <>
      <div class="bar">
        <label>
          Compare{' '}
          <select data-by value={isGrouped ? by : ''} onChange={(event) => setBy(event.currentTarget.value, 'push')}>
            {kGroups.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </label>
        {isGrouped ? (
          <label>
            by{' '}
            <select data-percentile value={percentile} onChange={(event) => setChosen(event.currentTarget.value, 'push')}>
              {kPercentiles.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          </label>
        ) : null}
        <Age at={answer.at} />
      </div>
      <Loaded answer={answer} waiting="Reading the requests …">
        {(data) =>
          data.series.length === 0 ? (
            <NoRequests />
          ) : (
            <>
              <LatencyChart title={isGrouped ? `Duration over time: ${percentile} of each ${data.by}` : 'Duration over time'} lines={linesOf(data, isGrouped ? percentile : undefined)} stepMs={data.stepMs} from={range.last ? rangeStart(to, range.seconds * 1000, firstOf(data)) : range.from * 1000} to={to} open={open} />
              {data.series.length > kMostLines ? <p class="dim">The {kMostLines} with the most requests of {formatNumber(data.series.length)}.</p> : null}
            </>
          )
        }
      </Loaded>
    </>
  );
}

function AllRoutes({range, selection}: PartProps) {
  const answer = useAnswer<FleetSeriesAnswer>(askFor('fleet/series', range, {...withoutBand(selection), by: 'route'}), {everyMs: everyMs(range)});
  return (
    <Loaded answer={answer} waiting="Reading the routes …">
      {({series}) => (series.length ? <RouteTable routes={series.map(routeOf)} hrefOf={(route) => addressOf('/fleet/routes', {...range.query, ...withoutBand(selection), route})} /> : null)}
    </Loaded>
  );
}

// Which part of the requests, by duration.
export function Bands({selection}: {selection: Query}) {
  const [from, to] = [Number(selection.fromPercentile ?? 0), Number(selection.toPercentile ?? 100)];
  return (
    <p class="switch" role="group" aria-label="Requests by duration">
      {kBands.map(([low, high, title]) => (
        <button key={title} type="button" data-band={`${low}-${high}`} aria-pressed={low === from && high === to} onClick={() => setQuery({fromPercentile: low || undefined, toPercentile: high === 100 ? undefined : high}, 'push')}>
          {title}
        </button>
      ))}
    </p>
  );
}

function OneRoute({range, selection}: PartProps) {
  const totals = useAnswer<FleetSeriesAnswer>(askFor('fleet/series', range, {...withoutBand(selection), by: 'route'}), {everyMs: everyMs(range)});
  const slowest = useAnswer<FleetRequests>(askFor('fleet/requests', range, {...selection, limit: kListed}), {everyMs: everyMs(range)});
  const one = totals.data?.series[0];
  return (
    <section aria-label="Route">
      {one ? (
        <p data-totals>
          {formatNumber(one.requests)} requests{one.perSecond == null ? '' : `, ${formatNumber(one.perSecond)} per second`}: half within {formatMs(one.p50Ms)}, 95 % within {formatMs(one.p95Ms)}, 99 % within {formatMs(one.p99Ms)}, the longest {formatMs(one.maxMs)}. {formatNumber(one.errors)} failed.{' '}
          {formatNumber(one.sampled)} sampled ({formatPercent(shareOf(one.sampled, one.requests))}).
        </p>
      ) : null}
      <Bands selection={selection} />
      <p>
        <a class="button" href={addressOf('/fleet/flame', {...range.query, ...selection})}>
          Flame graph of these requests
        </a>
      </p>
      <Loaded answer={slowest} waiting="Reading the slowest requests …">
        {({requests}) =>
          requests.length ? (
            <RequestTable requests={requests.map(listedOf)} caption={requests.length < kListed ? 'Sampled requests, the slowest first' : `The ${kListed} slowest sampled requests`} hrefOf={({traceId}) => addressOf(`/fleet/requests/${traceId}`, range.query)} />
          ) : (
            <Notice hint="Choose a longer range, or sample more requests: clrscope requests --sample">No sampled request matches.</Notice>
          )
        }
      </Loaded>
    </section>
  );
}
