// What the tests look at: processes with known illnesses, one controller that sees only these.
import * as kit from './kit.mjs';

export const kEvilName = '<img src=x onerror=document.title=1>';

export async function build(screenshots) {
  const [sick, idle, evil] = await Promise.all([
    kit.patient('sick'),
    kit.patient('idle'),
    kit.patientNamed(kEvilName, 'exceptions', '--rate', '20'),
    kit.openBrowser(),
  ]);
  const server = await kit.serve('--allow', [sick, idle, evil].map((one) => one.pid).join(','));
  return {sick, idle, evil, server, screenshots, measured: []};
}
