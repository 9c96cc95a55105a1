// All pages, in the order of the rail: those of a controller and those of a fleet server. The build tells the servers their paths (web/build.mjs).
import type {Page} from '../page';
import {AgentPage} from './agent';
import {Api} from './api';
import {Audit} from './audit';
import {Check} from './check';
import {Contention} from './contention';
import {Counters} from './counters';
import {Doctor} from './doctor';
import {DoctorReport} from './doctor-report';
import {Exceptions} from './exceptions';
import {Flame} from './flame';
import {FleetComparePage} from './fleet/compare';
import {FleetConfigurationsPage} from './fleet/configurations';
import {FleetFlamePage} from './fleet/flame';
import {FleetHostsPage} from './fleet/hosts';
import {FleetRequestsPage, FleetTracePage} from './fleet/requests';
import {FleetRoutesPage} from './fleet/routes';
import {FleetServicesPage} from './fleet/services';
import {Gc} from './gc';
import {HeapPage} from './heap';
import {Jit} from './jit';
import {Landing} from './landing';
import {Logs} from './logs';
import {Overview} from './overview';
import {Record} from './record';
import {Recordings} from './recordings';
import {RecordedRequests, Requests} from './requests';
import {Sessions} from './sessions';
import {Stacks} from './stacks';
import {ThreadStarts} from './thread-starts';
import {ThreadPool} from './threadpool';

export const pages: Page[] = [
  {path: '/', title: 'Processes', group: 'process', Content: Landing, key: 'p'},
  {path: '/overview', title: 'Overview', group: 'process', Content: Overview, about: 'process', key: 'o'},
  {path: '/doctor', title: 'Doctor', group: 'process', Content: Doctor, about: 'process', key: 'd'},
  {path: '/doctor/reports/{id}', title: 'Doctor report', group: 'process', Content: DoctorReport, isHidden: true, parent: '/doctor'},
  {path: '/stacks', title: 'Stacks', group: 'process', Content: Stacks, about: 'process', key: 's'},
  {path: '/record', title: 'Record', group: 'process', Content: Record, key: 'r', scope: 'trace'},
  {path: '/flame', title: 'Flame graph', group: 'process', Content: Flame, isHidden: true, parent: '/record', scope: 'trace'},
  {path: '/counters', title: 'Counters', group: 'process', Content: Counters, about: 'process', key: 'c'},
  {path: '/views/gc', title: 'GC', group: 'views', Content: Gc, about: 'process', key: 'g'},
  {path: '/views/jit', title: 'JIT', group: 'views', Content: Jit, about: 'process', key: 'j'},
  {path: '/views/exceptions', title: 'Exceptions', group: 'views', Content: Exceptions, about: 'process', key: 'e'},
  {path: '/views/contention', title: 'Locks', group: 'views', Content: Contention, about: 'process', key: 'l'},
  {path: '/views/threadpool', title: 'Thread pool', group: 'views', Content: ThreadPool, about: 'process', key: 't'},
  {path: '/views/thread-starts', title: 'Thread starts', group: 'views', Content: ThreadStarts, about: 'process'},
  {path: '/views/requests', title: 'Requests', group: 'views', Content: Requests, about: 'process', key: 'q', scope: 'trace'},
  {path: '/heap', title: 'Heap', group: 'views', Content: HeapPage, about: 'process', key: 'h', scope: 'memory'},
  {path: '/agent', title: 'Agent', group: 'views', Content: AgentPage, about: 'process', key: 'a', scope: 'trace'},
  {path: '/logs', title: 'Logs', group: 'views', Content: Logs, about: 'process', scope: 'trace'},
  {path: '/recordings', title: 'Recordings', group: 'server', Content: Recordings, key: 'f', scope: 'trace'},
  {path: '/recordings/{id}/requests', title: 'Requests of a recording', group: 'server', Content: RecordedRequests, isHidden: true, parent: '/recordings', scope: 'trace'},
  {path: '/sessions', title: 'Sessions', group: 'server', Content: Sessions, scope: 'trace'},
  {path: '/check', title: 'Check', group: 'server', Content: Check},
  {path: '/audit', title: 'Audit', group: 'server', Content: Audit, scope: 'admin'},
  {path: '/api', title: 'API', group: 'server', Content: Api},
];

export const fleetPages: Page[] = [
  {path: '/fleet/services', title: 'Services', group: 'fleet', Content: FleetServicesPage, key: 's'},
  {path: '/fleet/routes', title: 'Routes', group: 'fleet', Content: FleetRoutesPage, key: 'r'},
  {path: '/fleet/flame', title: 'Flame graph', group: 'fleet', Content: FleetFlamePage, key: 'f'},
  {path: '/fleet/compare', title: 'Compare', group: 'fleet', Content: FleetComparePage, key: 'd'},
  {path: '/fleet/requests', title: 'Requests', group: 'fleet', Content: FleetRequestsPage, key: 'q'},
  {path: '/fleet/requests/{traceId}', title: 'Request', group: 'fleet', Content: FleetTracePage, isHidden: true, parent: '/fleet/requests'},
  {path: '/fleet/hosts', title: 'Hosts', group: 'fleet', Content: FleetHostsPage, key: 'h'},
  {path: '/fleet/configurations', title: 'Configuration', group: 'fleet', Content: FleetConfigurationsPage, key: 'c'},
];
