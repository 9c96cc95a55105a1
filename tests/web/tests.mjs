// All tests of the pages; each is a sentence and a function of the world.
import {agentTests} from './agent.mjs';
import {countersTests} from './counters.mjs';
import {doctorTests} from './doctor.mjs';
import {fleetTests} from './fleet.mjs';
import {fleetCompareTests} from './fleet_compare.mjs';
import {foreignTests} from './foreign.mjs';
import {heapTests} from './heap.mjs';
import {insideTests} from './inside.mjs';
import {landingTests} from './landing.mjs';
import {logsTests} from './logs.mjs';
import {phoneTests} from './phone.mjs';
import {recordTests} from './record.mjs';
import {recordingsTests} from './recordings.mjs';
import {requestProfileTests} from './request_profile.mjs';
import {requestRunTests} from './request_run.mjs';
import {requestsTests} from './requests.mjs';
import {shellTests} from './shell.mjs';
import {stacksTests} from './stacks.mjs';
import {stateTests} from './states.mjs';
import {viewerTests} from './viewer.mjs';
import {viewsTests} from './views.mjs';

export const tests = [
  ...shellTests,
  ...phoneTests,
  ...stateTests,
  ...landingTests,
  ...doctorTests,
  ...stacksTests,
  ...countersTests,
  ...viewsTests,
  ...heapTests,
  ...agentTests,
  ...requestsTests,
  ...requestProfileTests,
  ...requestRunTests,
  ...logsTests,
  ...recordTests,
  ...recordingsTests,
  ...viewerTests,
  ...insideTests,
  ...foreignTests,
  ...fleetTests,
  ...fleetCompareTests,
];
