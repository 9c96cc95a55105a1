// A button that copies a text and says whether it worked.
import {useEffect, useState} from 'preact/hooks';
import {copyText} from './copy';

const kSaidMs = 1500;

export function CopyButton({text, label = 'Copy', what}: {text: string | (() => string); label?: string; what?: string}) {
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (!said) return undefined;
    const timer = setTimeout(() => setSaid(''), kSaidMs);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async () => setSaid((await copyText(typeof text === 'string' ? text : text())) ? 'Copied' : 'Cannot copy');
  return (
    <button type="button" class="small" aria-label={what && !said ? `${label} ${what}` : undefined} onClick={() => void copy()}>
      {said || label}
    </button>
  );
}
