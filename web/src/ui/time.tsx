// A time: local, with its zone; ISO 8601 on hover.
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
