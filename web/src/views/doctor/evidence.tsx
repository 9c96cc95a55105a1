// What a finding was concluded from: threads with their frames, objects, numbers, facts.
import type {Evidence as EvidenceData, FindingThread} from '../../api/types';
import {addressOf} from '../../frame/router';
import {Frames} from '../../ui/frames';

const kThreads = 6; // shown at once; the others unfold

const counted = (number: number, word: string): string => (number ? `${number} ${word}${number === 1 ? '' : 's'}` : '');

export function evidenceWords({threads, objects, numbers, details}: EvidenceData): string {
  return [counted(threads.length, 'thread'), counted(objects.length, 'object'), counted(numbers.length, 'number'), counted(details.length, 'fact')].filter(Boolean).join(', ');
}

// `pid` 0: there is no server to ask for stacks.
function ThreadEvidence({thread, pid}: {thread: FindingThread; pid: number}) {
  const label = `Thread ${thread.osId}`;
  return (
    <section class="evidence-thread">
      <p>
        {pid ? <a href={`${addressOf('/stacks', {pid})}#t${thread.osId}`}>{label}</a> : <b>{label}</b>}
        {thread.name ? ` “${thread.name}”` : ''} {thread.does}
      </p>
      <Frames frames={thread.frames} />
    </section>
  );
}

function Threads({threads, pid}: {threads: FindingThread[]; pid: number}) {
  return (
    <>
      {threads.map((thread) => (
        <ThreadEvidence key={thread.osId} thread={thread} pid={pid} />
      ))}
    </>
  );
}

export function Evidence({evidence, pid}: {evidence: EvidenceData; pid: number}) {
  const {threads, objects, numbers, details} = evidence;
  return (
    <>
      <Threads threads={threads.slice(0, kThreads)} pid={pid} />
      {threads.length > kThreads ? (
        <details>
          <summary>{counted(threads.length - kThreads, 'more thread')}</summary>
          <Threads threads={threads.slice(kThreads)} pid={pid} />
        </details>
      ) : null}
      {numbers.length ? (
        <table class="evidence-table">
          <caption>Numbers</caption>
          <tbody>
            {numbers.map((one) => (
              <tr key={one.name} title={one.value === null ? undefined : `${one.value} ${one.unit}`}>
                <th scope="row">{one.name}</th>
                <td>{one.text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
      {objects.length ? (
        <table class="evidence-table">
          <caption>Objects</caption>
          <tbody>
            {objects.map((one) => (
              <tr key={one.address}>
                <th scope="row">{one.role}</th>
                <td class="mono">{one.type}</td>
                <td class="mono dim">{one.address}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
      {details.length ? (
        <ul class="evidence-facts">
          {details.map((line, index) => (
            <li key={index}>{line}</li>
          ))}
        </ul>
      ) : null}
    </>
  );
}
