// Traces from the reader's disk, chosen or dropped: how far each is, and what became of it.
import {useState} from 'preact/hooks';
import type {Upload} from '../../api/uploads';
import {addressOf} from '../../frame/router';
import {formatBytes} from '../../ui/format';
import {Trouble} from '../../ui/state';

interface UploadsProps {
  uploads: Upload[];
  room?: string; // how much disk is used and allowed, in words
  onFiles: (files: File[]) => void;
  onCancel: (key: number) => void;
  onForget: (key: number) => void;
}

export function Uploads({uploads, room, onFiles, onCancel, onForget}: UploadsProps) {
  const [isOver, setOver] = useState(false);
  return (
    <section class="uploads" aria-label="Upload">
      <label
        class={isOver ? 'drop over' : 'drop'}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          onFiles([...(event.dataTransfer?.files ?? [])]);
        }}
      >
        <span>
          Upload a trace: choose .nettrace files, compressed or not, or drop them here.
          {room ? <span class="dim"> {room}</span> : null}
        </span>
        <input
          type="file"
          multiple
          accept=".nettrace,.zst,.gz,.netperf"
          onChange={(event) => {
            onFiles([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = '';
          }}
        />
      </label>
      {uploads.map((one) => (
        <UploadLine key={one.key} one={one} onCancel={onCancel} onForget={onForget} />
      ))}
    </section>
  );
}

function UploadLine({one, onCancel, onForget}: {one: Upload} & Pick<UploadsProps, 'onCancel' | 'onForget'>) {
  const forget = (
    <button type="button" onClick={() => onForget(one.key)}>
      Close
    </button>
  );
  if (one.problem)
    return (
      <div class="upload" data-upload="failed">
        <p>
          {one.file} ({formatBytes(one.bytes)}) was not kept. {forget}
        </p>
        <Trouble problem={one.problem} />
      </div>
    );
  if (one.kept)
    return (
      <p class="upload bar" role="status" data-upload="kept">
        <span>
          {one.file} is kept: {one.kept.events.toLocaleString('en-US')} events.
        </span>
        <a class="button main" href={addressOf('/flame', {recording: one.kept.id})}>
          Flame graph
        </a>
        <a class="button" href={addressOf('/recordings', {recording: one.kept.id})}>
          Reports and formats
        </a>
        {forget}
      </p>
    );
  const isSent = one.sent >= one.bytes;
  return (
    <p class="upload bar" data-upload="sending">
      <span>{one.file}</span>
      <progress max={one.bytes} value={isSent ? undefined : one.sent} aria-label={`Upload of ${one.file}`} />
      <span>{isSent ? `reading ${formatBytes(one.bytes)} …` : `${formatBytes(one.sent)} of ${formatBytes(one.bytes)}`}</span>
      <button type="button" onClick={() => onCancel(one.key)}>
        Cancel
      </button>
    </p>
  );
}
