// What to profile: methods, share of requests, time.
export interface ProfileChoice {
  include: string;
  exclude: string;
  sample: string; // '': automatic
  seconds: string;
}

interface ProfileFormProps {
  choice: ProfileChoice;
  isDisabled: boolean;
  onChange: (name: keyof ProfileChoice, value: string) => void;
  onStart: () => void;
}

export const kMostSeconds = 600;
const kSamples: [string, string][] = [
  ['', 'automatic, within 1 % of its CPU time'],
  ['1', 'every request'],
  ['0.1', '10 %'],
  ['0.01', '1 %'],
];

export function ProfileForm({choice, isDisabled, onChange, onStart}: ProfileFormProps) {
  return (
    <form
      class="bar profile-form"
      onSubmit={(event) => {
        event.preventDefault();
        onStart();
      }}
    >
      <label>
        Methods
        <input class="mono" required aria-label="Methods to measure" placeholder="MyCompany.Shop.*" title="Patterns of Namespace.Type.Method, separated by commas; * stands for any text" value={choice.include} onInput={(event) => onChange('include', event.currentTarget.value)} />
      </label>
      <label>
        without
        <input class="mono" aria-label="Methods to leave out" placeholder="none" value={choice.exclude} onInput={(event) => onChange('exclude', event.currentTarget.value)} />
      </label>
      <label>
        sample
        <select aria-label="Requests to sample" value={choice.sample} onChange={(event) => onChange('sample', event.currentTarget.value)}>
          {kSamples.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <label>
        for
        <input type="number" aria-label="Seconds" min="1" max={kMostSeconds} value={choice.seconds} onInput={(event) => onChange('seconds', event.currentTarget.value)} /> s
      </label>
      <button class="main" disabled={isDisabled}>
        Profile requests
      </button>
    </form>
  );
}
