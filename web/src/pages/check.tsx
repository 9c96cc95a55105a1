// What works here, for the chosen process or for the machine.
import {useAnswer} from '../api/answer';
import type {Check as CheckAnswer} from '../api/types';
import {processLabel, useProcesses} from '../frame/processes';
import {addressOf, open} from '../frame/router';
import type {PageProps} from '../page';
import {Age, Loaded} from '../ui/state';
import {CheckView} from '../views/check/check';

export function Check({pid, process}: PageProps) {
  const answer = useAnswer<CheckAnswer>(`check${pid ? `?pid=${pid}` : ''}`);
  const {data: processes = []} = useProcesses();
  return (
    <>
      <h1>What works {pid ? `for ${process ? processLabel(process) : pid}` : 'on this machine'}</h1>
      <p class="bar">
        <label>
          For{' '}
          <select value={pid ? String(pid) : ''} onChange={(event) => open(addressOf('/check', {pid: event.currentTarget.value}))}>
            <option value="">this machine</option>
            {processes.map((one) => (
              <option key={one.pid} value={String(one.pid)}>
                {processLabel(one)}
              </option>
            ))}
            {pid && !process ? <option value={String(pid)}>{pid} (exited)</option> : null}
          </select>
        </label>
        <button type="button" onClick={answer.refresh}>
          Check again
        </button>
        <Age at={answer.at} />
      </p>
      <Loaded answer={answer} waiting="Checking …">
        {(data) => <CheckView check={data} pid={pid} />}
      </Loaded>
    </>
  );
}
