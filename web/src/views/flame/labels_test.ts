import {deepEqual, equal} from 'node:assert/strict';
import {test} from 'node:test';
import {fittingLabel, labelForms, tableLabel} from './labels';

// The shortest form of each, which is what a narrow box shows: always the method.
const kMethods: [string, string][] = [
  ['pthread_cond_wait@@GLIBC_2.3.2', 'pthread_cond_wait'],
  ['memcpy@GLIBC_2.14', 'memcpy'],
  ['finish_task_switch.isra.0', 'finish_task_switch'],
  ['do_syscall_64.constprop.12', 'do_syscall_64'],
  ['tcp_ack.part.0.constprop.1', 'tcp_ack'],
  ['handle_mm_fault.cold', 'handle_mm_fault'],
  ['do_read [clone .isra.4]', 'do_read'],
  ['libcoreclr.so!fn_46f410', 'fn_46f410'],
  ['libfoo.so.1!work', 'work'],
  ['SVR::gc_heap::mark_object_simple(unsigned char**, int)', 'mark_object_simple'],
  ['std::_Rb_tree<int, std::pair<int const, std::vector<int> >, std::less<int> >::_M_insert_<std::pair<int, long> >(int)', '_M_insert_'],
  ['(anonymous namespace)::Worker::run(std::function<void (int)> const&)', 'run'],
  ['v8::internal::(anonymous namespace)::Invoke(v8::internal::Isolate*, v8::internal::(anonymous namespace)::InvokeParams const&)', 'Invoke'],
  ['net::Connection::receive(net::Connection::receive(net::Parser&)::_ZN3net.Frame*) [clone .actor]', 'receive'],
  ['Loop::run(std::function<void ()>)::{lambda(int)#1}::operator()(int) const', 'operator()'],
  ['Pool::size() const::Counter::add(int)', 'add'],
  ['void copy_warning<tree_node*, gimple const*>(tree_node*, gimple const*)', 'copy_warning'],
  ['decltype ((compare<char>)(0)) std::operator<=><char>(std::string const&, std::string const&)', 'operator<=><char>'],
  ['void std::sort<int*, std::greater<int> >(int*, int*, std::greater<int>)', 'sort'],
  ['Compare::operator()(int, int) const', 'operator()'],
  ['std::ostream::operator<<(long)', 'operator<<'],
  ['operator new(unsigned long)', 'operator new'],
  ['System.Collections.Generic.Dictionary`2[System.__Canon,System.Collections.Generic.List`1[System.Int32]].TryInsert(!0,System.Collections.Generic.List`1<!1>,bool)', 'TryInsert'],
  ['System.Linq.Enumerable.ToList<System.Collections.Generic.KeyValuePair<System.String, System.Int32>>(x)', 'ToList'],
  ['System.Byte[].Clone()', 'Clone'],
  ['Shop.Orders..ctor(System.Int32)', '.ctor'],
  ['Shop.Orders.Place(Shop.Cart)', 'Place'],
  ['Shop.Worker+<>c__DisplayClass5_0.<Run>b__1(System.Object)', 'Run lambda'],
  ['Shop.Worker.<>c.<Start>b__0_2()', 'Start lambda'],
  ['Shop.Program.<Main>g__Work|0_1(System.Int32)', 'Work'],
  ['Shop.Orders.<DoAsync>d__4.MoveNext()', 'DoAsync'],
  ['Shop.Orders+<Items>d__12`1[System.__Canon].MoveNext()', 'Items'],
  ['Shop.Program.<<Main>$>d__0.MoveNext()', 'Main'],
  ['System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1[System.__Canon,Shop.Orders+<DoAsync>d__4].MoveNext(Thread)', 'MoveNext'],
  ['[still waiting]', '[still waiting]'],
  ['?', '?'],
  ['main', 'main'],
];

test('the shortest form is the method, however ugly the name is', () => {
  for (const [whole, method] of kMethods) {
    const forms = labelForms(whole);
    deepEqual([whole, forms[forms.length - 1]], [whole, method]);
  }
});

test('arguments go first, then the namespace, then type arguments, the method last', () => {
  deepEqual(labelForms('A.B.C.M(System.Int32)'), ['A.B.C.M(System.Int32)', 'A.B.C.M', 'C.M', 'M']);
  deepEqual(labelForms('A.List<B.C>.Add(x)'), ['A.List<B.C>.Add(x)', 'A.List<B.C>.Add', 'List<B.C>.Add', 'List.Add', 'Add']);
  deepEqual(labelForms('gc::heap::mark(int)'), ['gc::heap::mark(int)', 'gc::heap::mark', 'heap::mark', 'mark']);
  deepEqual(labelForms('A.B..ctor(x)'), ['A.B..ctor(x)', 'A.B..ctor', 'B..ctor', '.ctor']);
});

test('an async method has its own name even where there is room for the state machine', () => {
  equal(labelForms('Shop.Orders.<DoAsync>d__4.MoveNext()')[0], 'Shop.Orders.DoAsync');
  equal(labelForms('Shop.Worker+<>c__DisplayClass5_0.<Run>b__1(System.Object)')[0], 'Shop.Worker.Run lambda');
});

test('every form is shorter than the one before, and none is empty', () => {
  for (const [whole] of [...kMethods, ['<img src=x onerror=alert(2)>'], ['</script><script>alert(1)'], ['${alert(3)}'], ['((('], ['...'], ['a.b.'], ['>>><<<'], ['']]) {
    const forms = labelForms(whole);
    deepEqual([whole, forms.filter((form, i) => i > 0 && (form.length === 0 || form.length >= forms[i - 1].length))], [whole, []]);
  }
});

test('a box cuts the method only when nothing is left to leave out', () => {
  const forms = labelForms('Samples.Symptoms.Sick.PriceOrder(System.Int32)');
  equal(fittingLabel(forms, 60), 'Samples.Symptoms.Sick.PriceOrder(System.Int32)');
  equal(fittingLabel(forms, 15), 'Sick.PriceOrder');
  equal(fittingLabel(forms, 10), 'PriceOrder');
  equal(fittingLabel(forms, 6), 'Price…');
  equal(fittingLabel(forms, 2), '');
  equal(fittingLabel(labelForms('pthread_cond_wait@@GLIBC_2.3.2'), 18), 'pthread_cond_wait');
});

test('tables have type and method first, then where they are', () => {
  deepEqual(tableLabel('A.B.C.M(System.Int32)'), {label: 'C.M', context: 'A.B'});
  deepEqual(tableLabel('A.List<B.C>.Add(x)'), {label: 'List<B.C>.Add', context: 'A'});
  deepEqual(tableLabel('memcpy@GLIBC_2.14'), {label: 'memcpy', context: ''});
  deepEqual(tableLabel('[stub: write barrier]'), {label: '[stub: write barrier]', context: ''});
});
