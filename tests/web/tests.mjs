// All tests of the pages, in groups that a worker runs in order; each is a sentence and a function of the world.
import {agentTests} from './agent.mjs';
import {countersTests} from './counters.mjs';
import {doctorTests} from './doctor.mjs';
import {fleetTests} from './fleet.mjs';
import {fleetOpenTests} from './fleet_open.mjs';
import {fleetCompareTests} from './fleet_compare.mjs';
import {foreignTests} from './foreign.mjs';
import {heapTests} from './heap.mjs';
import {insideTests} from './inside.mjs';
import {journeyTests} from './journeys.mjs';
import {landingTests} from './landing.mjs';
import {logsTests} from './logs.mjs';
import {noScriptTests} from './no_script.mjs';
import {phoneTests} from './phone.mjs';
import {recordTests} from './record.mjs';
import {recordingsTests} from './recordings.mjs';
import {requestProfileTests} from './request_profile.mjs';
import {requestRunTests} from './request_run.mjs';
import {requestsTests} from './requests.mjs';
import {shellTests} from './shell.mjs';
import {stacksTests} from './stacks.mjs';
import {stateTests} from './states.mjs';
import {steadyTests} from './steady.mjs';
import {viewerTests} from './viewer.mjs';
import {viewsTests} from './views.mjs';

// Those that take longest begin.
export const groups = [
  shellTests,
  stateTests,
  fleetTests,
  requestRunTests,
  landingTests,
  viewsTests,
  doctorTests,
  requestProfileTests,
  agentTests,
  recordingsTests,
  countersTests,
  stacksTests,
  steadyTests,
  journeyTests,
  viewerTests,
  recordTests,
  phoneTests,
  heapTests,
  insideTests,
  fleetOpenTests,
  requestsTests,
  logsTests,
  noScriptTests,
  fleetCompareTests,
  foreignTests,
];
