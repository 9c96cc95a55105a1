// A chart as a part of a view: drawn only while it can be seen.
import {useEffect, useRef} from 'preact/hooks';
import {Chart, type ChartSetting, type Line} from './chart';

interface PlotProps extends ChartSetting {
  lines: Line[];
  from: number; // ms since 1970
  to: number;
}

export function Plot(props: PlotProps) {
  const root = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart>();
  const latest = useRef(props);
  const isSeen = useRef(false);
  latest.current = props;
  const draw = () => {
    const {lines, from, to} = latest.current;
    if (isSeen.current) chart.current?.show(lines, from, to);
  };
  const {unit, height, intervalMs, shape, syncKey, compact} = props;
  useEffect(() => {
    const element = root.current!;
    chart.current = new Chart(element, {unit, height, intervalMs, shape, syncKey, compact});
    const watcher = new IntersectionObserver((entries) => {
      isSeen.current = entries[entries.length - 1].isIntersecting;
      draw();
    });
    watcher.observe(element);
    draw();
    return () => {
      watcher.disconnect();
      chart.current?.end();
    };
  }, [unit, height, intervalMs, shape, syncKey, compact]);
  useEffect(draw);
  return <div class="chart" ref={root} />;
}
