// Times: local, with their zone or the time of day only; ISO 8601 on hover.
import {clockTime, localTime} from './format';

export function Time({iso, short = false}: {iso: string; short?: boolean}) {
  const ms = Date.parse(iso);
  if (!Number.isFinite(ms)) return <>{iso}</>;
  return (
    <time dateTime={iso} title={iso}>
      {short ? clockTime(ms) : localTime(ms)}
    </time>
  );
}

// The time of day of ms since 1970.
export function Clock({ms}: {ms: number}) {
  return Number.isFinite(ms) ? <Time iso={new Date(ms).toISOString()} short /> : null;
}
