// The end of what runs on the controller: stopped and kept, or discarded.
import type {ComponentChildren} from 'preact';
import {Confirm} from './confirm';

interface StopBarProps {
  isBusy: boolean; // a click is under way
  isOver: boolean; // it has ended, or is about to
  onStop: () => void;
  onDiscard: () => void;
  children: ComponentChildren; // who began it, and when
}

export function StopBar({isBusy, isOver, onStop, onDiscard, children}: StopBarProps) {
  return (
    <p class="bar">
      <button type="button" class="main" disabled={isBusy || isOver} onClick={onStop}>
        Stop and keep
      </button>
      <Confirm words="Discard" question="Discard what it has recorded?" isDisabled={isBusy} onConfirm={onDiscard} />
      <span class="dim">{children}</span>
    </p>
  );
}
