// A button that asks once more before it does what cannot be undone.
import {useEffect, useRef, useState} from 'preact/hooks';

interface ConfirmProps {
  words: string;
  question: string;
  onConfirm: () => void;
  isDisabled?: boolean;
  class?: string;
}

export function Confirm({words, question, onConfirm, isDisabled = false, class: name}: ConfirmProps) {
  const [isAsking, setAsking] = useState(false);
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isAsking) keep.current?.focus();
  }, [isAsking]);
  if (!isAsking)
    return (
      <button type="button" class={name} disabled={isDisabled} onClick={() => setAsking(true)}>
        {words}
      </button>
    );
  return (
    <span class="confirm" role="group" aria-label={question} onKeyDown={(event) => event.key === 'Escape' && setAsking(false)}>
      <span>{question}</span>
      <button
        type="button"
        class="harmful"
        onClick={() => {
          setAsking(false);
          onConfirm();
        }}
      >
        {words}
      </button>
      <button type="button" ref={keep} onClick={() => setAsking(false)}>
        Keep
      </button>
    </span>
  );
}
