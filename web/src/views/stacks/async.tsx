// Logical async stacks: what the innermost method waits for, then who awaits whom. Equal stacks are one group.
import type {AsyncStacks} from '../../api/types';
import {Fold, type OpenSet} from '../../ui/fold';
import {formatMs, formatNumber} from '../../ui/format';
import {idsOf} from '../../ui/short-id';
import {Wrapped} from '../../ui/wrapped';
import {SeverityMark} from '../doctor/findings';

type AsyncGroup = AsyncStacks['groups'][number];

const kShown = 200; // groups

function matches(group: AsyncGroup, filter: string): boolean {
  const text = `${group.wait.text} ${group.wait.type} ${group.frames.map((one) => one.method).join(' ')}`.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

// The same group in another snapshot has the same id: objects move, the place in the code does not.
export function asyncIds(groups: AsyncGroup[]): Map<AsyncGroup, string> {
  return idsOf(groups, ({wait, frames}) => [wait.kind, wait.type, ...frames.map((one) => `${one.method} ${one.await ?? ''}`)].join('\n'));
}

export function AsyncView({data, filter, open}: {data: AsyncStacks; filter: string; open: OpenSet}) {
  const shown = data.groups.filter((one) => matches(one, filter));
  const ids = asyncIds(data.groups);
  return (
    <div data-async>
      {data.cycles.map((cycle, i) => (
        <section class="card error deadlock" key={i}>
          <h2>
            <SeverityMark severity="error" /> Async deadlock: {cycle.links.length === 1 ? 'a method waits for itself' : `${cycle.links.length} methods wait for each other`}
          </h2>
          <ul>
            {cycle.links.map((link) => (
              <li key={link.object}>
                <span class="mono">
                  <Wrapped text={link.method} />
                </span>{' '}
                waits for <Wrapped text={link.awaits} />
                {link.holds ? `, holds ${link.holds}` : ''}
              </li>
            ))}
          </ul>
        </section>
      ))}
      <p>
        {formatNumber(data.pending)} async {data.pending === 1 ? 'method has' : 'methods have'} not finished, in {formatNumber(data.stacks)} {data.stacks === 1 ? 'stack' : 'stacks'} and {formatNumber(data.groups.length)} {data.groups.length === 1 ? 'group' : 'groups'}.
        {filter ? ` ${formatNumber(shown.length)} ${shown.length === 1 ? 'group matches' : 'groups match'}.` : ''}
      </p>
      <p class="dim">
        {data.runtime ? `.NET ${data.runtime} · ` : ''}paused for {formatMs(data.pauseMs)} · taken in {formatMs(data.durationMs)}
        {data.timers ? ` · ${formatNumber(data.timers)} active ${data.timers === 1 ? 'timer' : 'timers'}` : ''}
      </p>
      {shown.slice(0, kShown).map((group) => (
        <Group key={ids.get(group)} id={ids.get(group) ?? ''} group={group} open={open} />
      ))}
      {shown.length > kShown ? <p class="dim">and {formatNumber(shown.length - kShown)} more groups</p> : null}
      {data.notes.map((note) => (
        <p class="dim" key={note}>
          {note}
        </p>
      ))}
    </div>
  );
}

function Group({id, group, open}: {id: string; group: AsyncGroup; open: OpenSet}) {
  const first = group.frames[0]?.method ?? '';
  const more = [
    group.unchanged ? `${formatNumber(group.unchanged)} did not move between two looks` : '',
    group.blockedThreads?.length ? `${formatNumber(group.blockedThreads.length)} ${group.blockedThreads.length === 1 ? 'thread blocks' : 'threads block'} on them` : '',
    group.wait.detail ?? '',
  ].filter(Boolean);
  return (
    <Fold
      id={id}
      open={open}
      class="heap-paths"
      summary={
        <>
          <b>{formatNumber(group.count)} ×</b> {group.wait.text} <span class="dim mono">{first}</span>
        </>
      }
    >
      {more.length ? <p class="dim">{more.join(' · ')}</p> : null}
      <AsyncFrames frames={group.frames} />
    </Fold>
  );
}

// Async methods that await each other, innermost first.
export function AsyncFrames({frames}: {frames: AsyncGroup['frames']}) {
  return (
    <ol class="frames mono" data-async-frames>
      {frames.map((frame, i) => (
        <li key={i}>
          <Wrapped text={frame.method} />
          {frame.await === undefined ? null : <span class="dim"> at its await number {frame.await + 1}</span>}
        </li>
      ))}
    </ol>
  );
}
