// Exceptions: by type with the places that throw them, and the last ones grouped by type and stack.
import {useRef} from 'preact/hooks';
import type {ExceptionsView, ExceptionType} from '../../api/types';
import type {Span} from '../../api/view';
import type {Line} from '../../ui/chart';
import {type OpenSet, Fold} from '../../ui/fold';
import {formatNumber, formatPercent} from '../../ui/format';
import {Frames, placeOf} from '../../ui/frames';
import {type Column, Table} from '../../ui/table';
import {Time} from '../../ui/time';
import {Wrapped} from '../../ui/wrapped';
import {Facts, Timeline} from './frame';
import {type Group, ShownGroups} from './groups';
import {StackNames, tabStorage} from './stack-names';
import {counted} from './words';

const kMostSites = 5;
const names = new StackNames(tabStorage());

function Sites({type}: {type: ExceptionType}) {
  const more = type.sites.length - kMostSites;
  return (
    <ul class="sites">
      {type.sites.slice(0, kMostSites).map((site) => (
        <li key={`${site.method} ${site.line ?? 0}`} title={[site.module, site.file].filter(Boolean).join('\n')}>
          <Wrapped text={site.method} /> <span class="dim">{[placeOf(site) || site.module, type.sites.length > 1 ? `${formatNumber(site.count)} times` : ''].filter(Boolean).join(', ')}</span>
        </li>
      ))}
      {more > 0 ? (
        <li class="dim" title={type.sites.slice(kMostSites).map((site) => `${site.count} × ${site.method} ${placeOf(site)}`).join('\n')}>
          and {more} more places
        </li>
      ) : null}
    </ul>
  );
}

const kColumns: Column<ExceptionType>[] = [
  {id: 'type', title: 'Type', value: (one) => one.type, as: 'code', show: (one) => <Wrapped text={one.type} />},
  {id: 'count', title: 'Thrown', value: (one) => one.count, as: 'number', show: (one) => formatNumber(one.count)},
  {id: 'rate', title: 'Per second', value: (one) => one.ratePerSecond, as: 'number', show: (one) => formatNumber(one.ratePerSecond ?? 0)},
  {id: 'share', title: 'Share', value: (one) => one.percent, as: 'number', show: (one) => formatPercent(one.percent ?? 0)},
  {id: 'rethrown', title: 'Thrown again', value: (one) => one.rethrown, as: 'number', show: (one) => formatNumber(one.rethrown)},
  {id: 'site', title: 'Thrown in', value: (one) => one.sites[0]?.method, as: 'code', show: (one) => <Sites type={one} />},
  {id: 'message', title: 'First message', value: (one) => one.message, show: (one) => <div class="message clamped" title={one.message}>{one.message}</div>},
];

function Stack({group}: {group: Group}) {
  return (
    <>
      {group.messages.map(({text, count}) => (
        <p class="message" key={text}>
          {text || <span class="dim">no message</span>}
          {group.messages.length > 1 ? <span class="dim"> ({counted(count, 'time')})</span> : null}
        </p>
      ))}
      {group.moreMessages ? <p class="dim">and {formatNumber(group.moreMessages)} with other messages</p> : null}
      {group.stack.length ? (
        <Frames frames={group.stack} />
      ) : (
        <p class="dim">The runtime recorded no stack.</p>
      )}
    </>
  );
}

function Groups({groups, open}: {groups: Group[]; open: OpenSet}) {
  return (
    <div class="thrown-list">
      {groups.map((group) => (
        <Fold
          key={group.id}
          id={group.name}
          open={open}
          class="thrown"
          summary={
            <>
              <b class="count">{formatNumber(group.count)} ×</b> <code><Wrapped text={group.type} /></code> <span class="dim">in</span> <code><Wrapped text={group.stack[0]?.method ?? 'an unknown method'} /></code>
              {group.stack[0]?.line ? <span class="dim"> {placeOf(group.stack[0])}</span> : null}
              <span class="dim when">
                {' '}
                {group.isGone ? 'none lately, ' : ''}last <Time iso={group.last} short />, thread {group.osId}
              </span>
              <span class="message clamped">{group.messages[0]?.text}</span>
            </>
          }
        >
          <Stack group={group} />
        </Fold>
      ))}
    </div>
  );
}

interface Props {
  view: ExceptionsView;
  span: Span;
  rate: Line[]; // by the runtime's counter
  rateIntervalMs: number;
  open: OpenSet;
}

export function ExceptionsThrown({view, span, rate, rateIntervalMs, open}: Props) {
  // Of one process and one time of watching.
  const owner = `${view.pid} ${view.since}`;
  const kept = useRef({owner, shown: new ShownGroups(names)});
  if (kept.current.owner !== owner) kept.current = {owner, shown: new ShownGroups(names)};
  const groups = kept.current.shown.of(view.groups ?? [], open.has);
  const gone = groups.filter((group) => group.isGone).length;
  return (
    <>
      <Facts
        facts={[
          {id: 'thrown', title: 'Thrown', value: formatNumber(view.exceptions), note: view.onlyCounted ? `${formatNumber(view.onlyCounted)} only counted, without type and stack` : undefined},
          {id: 'rate', title: 'Per second', value: formatNumber(view.ratePerSecond ?? 0)},
          {id: 'types', title: 'Types', value: formatNumber(view.byType.length)},
          {id: 'total', title: 'Since watching began', value: formatNumber(view.total ?? view.exceptions)},
        ]}
      />
      <Timeline id="rate" title="Thrown per second" lines={rate} {...span} unit="{exception}/s" shape="line" intervalMs={rateIntervalMs} syncKey="exceptions" note="By the runtime's own counter, a value a second, each type a line." />
      {view.byType.length ? (
        <>
          <h2>By type</h2>
          <Table id="type" caption={`${counted(view.exceptions - view.onlyCounted, 'exception')} of ${counted(view.byType.length, 'type')}`} rows={view.byType} rowKey={(one) => one.type} columns={kColumns} />
        </>
      ) : null}
      {groups.length ? (
        <>
          <h2>By type and stack</h2>
          <p class="dim" data-recent>
            The last {counted(view.grouped ?? 0, 'exception')} of {formatNumber(view.total ?? 0)} since it is watched, in {counted(groups.length - gone, 'group')}
            {view.moreGroups ? ` and ${formatNumber(view.moreGroups)} more, which are older` : ''}.{gone ? ` ${counted(gone, 'opened group')} had none lately.` : ''}
          </p>
          <Groups groups={groups} open={open} />
        </>
      ) : null}
    </>
  );
}
