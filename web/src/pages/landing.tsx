// The first page: all .NET processes here, and which of them is in trouble.
import {useAnswer} from '../api/answer';
import type {WatchedProcess} from '../api/types';
import {addressOf, useParam} from '../frame/router';
import type {PageProps} from '../page';
import {Age, Loaded, Notice} from '../ui/state';
import {ProcessTable, stateWords} from '../views/landing/table';

const kEveryMs = 3000;
const kFilterFrom = 10;

function summary(processes: WatchedProcess[]): string {
  const inTrouble = processes.filter((one) => one.severity === 'error' || one.severity === 'warning').length;
  const unknown = processes.filter((one) => one.severity === 'unknown').length;
  const checked = processes.length - unknown;
  const all = processes.length === 1 ? '1 process' : `${processes.length} processes`;
  if (!checked) return `${all}, none checked yet`;
  const found = inTrouble ? `${inTrouble} in trouble` : `no problems found in ${checked === processes.length ? 'them' : checked}`;
  return [all, found, unknown ? `${unknown} not checked` : ''].filter(Boolean).join(', ');
}

export function Landing(_props: PageProps) {
  const answer = useAnswer<WatchedProcess[]>('watch', {everyMs: kEveryMs});
  const [filter, setFilter] = useParam('q');
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (one: WatchedProcess) => {
    const text = `${one.pid} ${one.name} ${one.commandLine} ${one.user} ${one.runtime} ${one.container ?? ''} ${stateWords(one)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return (
    <>
      <h1>Processes</h1>
      <Loaded answer={answer} waiting="Looking for .NET processes …">
        {(all) => {
          const shown = all.filter(fits);
          if (!all.length) return <Nothing />;
          return (
            <>
              <p class="bar">
                <span class="lead">{summary(all)}</span> <Age at={answer.at} />
              </p>
              {all.length > kFilterFrom || filter ? (
                <p class="bar">
                  <label>
                    Filter <input type="search" value={filter} placeholder="name, argument, user, problem" onInput={(event) => setFilter(event.currentTarget.value)} />
                  </label>
                  <span class="dim" role="status">
                    {shown.length} of {all.length}
                  </span>
                </p>
              ) : null}
              <ProcessTable processes={shown} />
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function Nothing() {
  return (
    <>
      <Notice hint="A process is listed as soon as its runtime is up. Processes of other users are visible to root, those of other containers from the host.">No .NET process is running here, or none is visible to clrscope.</Notice>
      <p>
        Start one, for example <code>dotnet run</code>; this page shows it within seconds. <a href={addressOf('/check')}>Check what works here</a>
      </p>
    </>
  );
}
