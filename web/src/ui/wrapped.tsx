// A long name or address that may break after its dots, commas, slashes and underscores, not within its words.
import {Fragment} from 'preact';

export function Wrapped({text}: {text: string}) {
  return (
    <>
      {text.split(/(?<=[.,+(_?&/])/).map((part, i) => (
        <Fragment key={i}>
          {i ? <wbr /> : null}
          {part}
        </Fragment>
      ))}
    </>
  );
}
