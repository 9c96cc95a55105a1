// What was kept of a process: its last recordings and reports.
import type {ComponentChildren} from 'preact';
import type {ExaminationSummary, Recording} from '../../api/types';
import {addressOf} from '../../frame/router';
import {formatBytes, formatMs, formatNumber} from '../../ui/format';
import {Time} from '../../ui/time';
import {reportAddress, verdictWords} from '../doctor/reports';

const kMost = 5;

function Part({title, path, pid, children}: {title: string; path: string; pid: number; children: ComponentChildren}) {
  return (
    <section>
      <h2>
        <a href={addressOf(path, {pid})}>{title}</a>
      </h2>
      {children}
    </section>
  );
}

export function Kept({recordings, reports, pid}: {recordings?: Recording[]; reports?: ExaminationSummary[]; pid: number}) {
  return (
    <div class="columns">
      {reports ? (
        <Part title="Reports" path="/doctor" pid={pid}>
          {reports.length ? null : <p class="dim">None yet.</p>}
          <ul class="list" data-kept="reports">
            {reports.slice(0, kMost).map((one) => (
              <li key={one.id}>
                <a href={reportAddress(one, pid)}>
                  <Time iso={one.started} />
                </a>
                <br />
                <span class={`dot ${one.state === 'finished' ? one.severity : ''}`} /> {verdictWords(one)}
              </li>
            ))}
          </ul>
        </Part>
      ) : null}
      {recordings ? (
        <Part title="Recordings" path="/recordings" pid={pid}>
          {recordings.length ? null : <p class="dim">None yet.</p>}
          <ul class="list" data-kept="recordings">
            {recordings.slice(0, kMost).map((one) => (
              <li key={one.id}>
                <a href={one.kind === 'heap' ? addressOf('/heap', {pid, snapshot: one.id}) : addressOf('/flame', {pid, recording: one.id})}>{one.name || <Time iso={one.started} />}</a>
                <br />
                <span class="dim">
                  {one.profile || one.kind}, {formatMs(one.durationMs)}, {formatNumber(one.samples)} samples, {formatBytes(one.bytes)}
                  {one.state === 'finished' ? '' : `, ${one.state}`}
                </span>
              </li>
            ))}
          </ul>
        </Part>
      ) : null}
    </div>
  );
}
