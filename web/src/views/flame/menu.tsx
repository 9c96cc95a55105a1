// A menu at a point of the window, for keyboard and pointer: arrows move, Enter takes, Esc closes and gives the focus back.
import {useEffect, useLayoutEffect, useRef} from 'preact/hooks';

export interface MenuItem {
  title: string;
  action: () => void;
}

export interface MenuPlace {
  x: number;
  y: number;
}

export function Menu({x, y, label, items, onClose}: MenuPlace & {label: string; items: MenuItem[]; onClose: () => void}) {
  const box = useRef<HTMLDivElement>(null);
  const close = useRef(onClose);
  close.current = onClose;
  useLayoutEffect(() => {
    const {offsetWidth: width, offsetHeight: height, style} = box.current!;
    style.left = `${Math.max(4, Math.min(x, window.innerWidth - width - 6))}px`;
    style.top = `${Math.max(4, y + height > window.innerHeight - 6 ? Math.min(y, window.innerHeight) - height - 6 : y)}px`;
  });
  useEffect(() => {
    const before = document.activeElement;
    box.current?.querySelector('button')?.focus();
    const onPointer = (event: PointerEvent) => {
      if (!(event.target instanceof Node) || !box.current?.contains(event.target)) close.current();
    };
    const onScroll = () => close.current();
    document.addEventListener('pointerdown', onPointer, true);
    window.addEventListener('resize', onScroll);
    return () => {
      document.removeEventListener('pointerdown', onPointer, true);
      window.removeEventListener('resize', onScroll);
      if (before instanceof HTMLElement && before.isConnected && document.activeElement === document.body) before.focus();
    };
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...box.current!.querySelectorAll('button')];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const move: Record<string, number> = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1};
    if (event.key in move) buttons[(move[event.key] + buttons.length) % buttons.length].focus();
    else if (event.key === 'Escape' || event.key === 'Tab') onClose();
    else if (event.key !== 'Enter' && event.key !== ' ') {
      const wanted = [...buttons.slice(at + 1), ...buttons.slice(0, at + 1)].find((one) => one.textContent?.toLowerCase().startsWith(event.key.toLowerCase()));
      wanted?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="flame-menu" role="menu" aria-label={label} ref={box} onKeyDown={onKeyDown} onContextMenu={(event) => event.preventDefault()}>
      {items.map((one) => (
        <button
          type="button"
          role="menuitem"
          tabIndex={-1}
          key={one.title}
          onClick={() => {
            onClose();
            one.action();
          }}
        >
          {one.title}
        </button>
      ))}
    </div>
  );
}
