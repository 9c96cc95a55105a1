// A long name that may break after its dots and commas, not within its words.
import {Fragment} from 'preact';

export function Wrapped({text}: {text: string}) {
  return (
    <>
      {text.split(/(?<=[.,+(])/).map((part, i) => (
        <Fragment key={i}>
          {i ? <wbr /> : null}
          {part}
        </Fragment>
      ))}
    </>
  );
}
