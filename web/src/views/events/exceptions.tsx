// Exceptions: by type with the places that throw them, and the last ones grouped by type and stack.
import type {ExceptionsView, ExceptionType} from '../../api/types';
import type {Span} from '../../api/view';
import type {Line} from '../../ui/chart';
import {type OpenSet, Fold} from '../../ui/fold';
import {formatNumber, formatPercent} from '../../ui/format';
import {placeOf} from '../../ui/frames';
import {type Column, Table} from '../../ui/table';
import {Time} from '../../ui/time';
import {Wrapped} from '../../ui/wrapped';
import {Facts, Timeline} from './frame';
import {type Group, grouped} from './groups';
import {counted} from './words';

const kMostSites = 5;

function Sites({type}: {type: ExceptionType}) {
  const more = type.sites.length - kMostSites;
  return (
    <ul class="sites">
      {type.sites.slice(0, kMostSites).map((site) => (
        <li key={site.method} title={[site.module, site.file].filter(Boolean).join('\n')}>
          <Wrapped text={site.method} /> <span class="dim">{[placeOf(site) || site.module, type.sites.length > 1 ? `${formatNumber(site.count)} times` : ''].filter(Boolean).join(', ')}</span>
        </li>
      ))}
      {more > 0 ? (
        <li class="dim" title={type.sites.slice(kMostSites).map((site) => `${site.count} × ${site.method}`).join('\n')}>
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
      {group.moreMessages ? <p class="dim">and {group.moreMessages} other messages</p> : null}
      {group.stack.length ? (
        <ol class="frames">
          {group.stack.map((method, i) => (
            <li key={i}>
              <Wrapped text={method} />
            </li>
          ))}
        </ol>
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
          key={group.key}
          id={group.key}
          open={open}
          class="thrown"
          summary={
            <>
              <b class="count">{formatNumber(group.count)} ×</b> <code><Wrapped text={group.type} /></code> <span class="dim">in</span> <code><Wrapped text={group.stack[0] ?? 'an unknown method'} /></code>
              <span class="dim when">
                {' '}
                last <Time iso={group.last} short />, thread {group.osId}
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
  const recent = view.recent ?? [];
  const groups = grouped(recent);
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
      {recent.length ? (
        <>
          <h2>By type and stack</h2>
          <p class="dim" data-recent>
            The last {counted(recent.length, 'exception')} of {formatNumber(view.total ?? recent.length)} since it is watched, in {counted(groups.length, 'group')}.
          </p>
          <Groups groups={groups} open={open} />
        </>
      ) : null}
    </>
  );
}
