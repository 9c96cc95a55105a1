// HTTP requests that the process serves right now: how old, for which path, in which method.
import {useAnswer} from '../api/answer';
import type {RequestsInFlight} from '../api/types';
import {useParam} from '../frame/router';
import type {PageProps} from '../page';
import {useOpenParam} from '../ui/fold';
import {Age, Loaded} from '../ui/state';
import {RequestsView} from '../views/requests/view';
import {Filter} from '../views/stacks/bar';

export function Requests({pid, process}: PageProps) {
  const [filter, setFilter] = useParam('filter');
  const answer = useAnswer<RequestsInFlight>(`views/requests?pid=${pid}`);
  const open = useOpenParam('open');
  return (
    <>
      <h1>
        Requests in flight{process ? ` of ${process.name}` : ''} ({pid})
      </h1>
      <div class="stacks-view">
        <div class="bar stacks-bar">
          <Filter value={filter} onChange={setFilter} label="Filter requests" example="filter paths, methods, trace ids" />
          <button type="button" class="main" data-refresh aria-busy={answer.isLoading} onClick={answer.refresh}>
            Refresh
          </button>
          <Age at={answer.at} />
        </div>
        <Loaded answer={answer} waiting="Reading the requests of the process …">
          {(data) => <RequestsView data={data} filter={filter} open={open} />}
        </Loaded>
      </div>
    </>
  );
}
