"""Small templates, one per construct, that tools/check_templates.py compares with jinja2."""
import json

CONVERSATION = json.dumps({
    "messages": [{"role": "system", "content": "Be  kind."}, {"role": "user", "content": "Hi ünï!", "n": 3},
                 {"role": "assistant", "content": None, "tool_calls": [{"name": "f", "arguments": {"b": [1, 2.5], "a": "ü"}}]}],
    "tools": None, "s": "Hello World", "u": "ß Straße ŉ ΣΑΣ 日本 😀", "empty": "", "none": None, "yes": True, "no": False,
    "i": 42, "neg": -7, "f": 2.5, "big": 12345678901234567890, "l": [3, 1, 2], "words": ["b", "A", "c", "a"], "nested": [[1, 2], [3], []],
    "d": {"b": 2, "a": 1, "C": None, "items": "shadowed", "k y": True}, "mixed": [0, "", None, False, "x", 1.5, [], {}],
    "people": [{"name": "Ann", "age": 30, "tags": ["x", "y"]}, {"name": "bob", "age": 25, "tags": []},
               {"name": "Cid", "age": 30, "tags": ["z"]}], "lines": "one\ntwo\r\n\nfour\n", "html": "<a href='x'>&\"</a>", "cr": "a\rb",
})

# Expressions between broken bars: each is rendered as {{ ... }}.
EXPRESSIONS = r"""
1¦1.0¦0.1 + 0.2¦1e16¦1e-5¦1e15¦123456789012345678¦1_000¦0x1f¦0b101¦0o17¦1e3¦1.5e-3¦-0.0¦1e400
true¦True¦false¦none¦None¦[]¦{}¦()¦(1,)¦(1, 2)¦[1, 'a', none, true, 2.5, [], {}, (1,)]¦{'a': 1, "b": 'x', 3: none}¦1,¦1, 2
'it''s'¦"a" 'b'¦'a\nb\tc\\d\'e\"f'¦'\x41\u00e9\U0001F600\101\0'¦'\d\q\ü'¦"'"¦["'", '"', '\'"', '\n', '\x00\x7f\u200b\u00e9\u2028']
'\é'
i + 1¦i - 50¦i * f¦i / 4¦i // 5¦neg // 2¦neg % 5¦7 % -3¦7.5 % 2¦-7.5 // 2¦2 ** 10¦2 ** -1¦2 ** 0.5¦-2 ** 2¦2 ** 3 ** 2¦i / 0¦i // 0¦i % 0¦1.0 / 0¦0 ** 0¦1.5 // 0¦1.5 % 0
9223372036854775807 + 1¦big + big¦big * big¦-big¦2 ** 64¦2 ** 100¦big // 7¦big % 1000¦big / 10¦5 / 2¦4 / 2¦1 / 3¦10 ** 20¦(2 ** 63) - 1¦0 ** -1¦true + true¦true * 'ab'¦- true¦+ true¦+ f¦- f¦not f
'a' + 'b'¦'a' * 3¦3 * 'ab'¦'a' * -1¦[1] + [2]¦[1, 2] * 2¦(1,) + (2,)¦2 * (1,)¦'a' + 1¦1 + 'a'¦[1] + 1¦[1] + (1,)¦none + 1¦{} + {}¦'a' - 'b'¦'a' * 'b'¦[1] * 1.5¦- 'a'¦+ none¦d + 1
'a' ~ 1 ~ none ~ 2.5 ~ true ~ [1, 'x']¦1 ~ 2 + 3¦1 + 2 ~ 3¦'a' ~ missing ~ 'b'¦i ~ -i¦2 * 3 ~ 4 * 5
1 < 2¦1 < 2 < 3¦1 < 3 < 2¦1 == 1.0¦true == 1¦'a' < 'b'¦'a' == 'a'¦'é' > 'z'¦[1, 2] < [1, 3]¦[1] < [1, 2]¦(1, 'a') == (1, 'a')¦[1] == (1,)¦{'a': 1} == {'a': 1.0}¦1 != 2¦1 >= 1¦2 <= 1¦none == none¦none == false¦0 == false¦'1' == 1
1 < 'a'¦none < 1¦[1] < 1¦[1] < ['a']¦{} < {}¦1 < none¦missing < 1¦1 > missing¦missing == missing¦missing == none¦missing != 1¦'a' >= missing
1 in [1, 2]¦'a' in 'abc'¦'' in 'abc'¦'x' not in 'abc'¦'a' in d¦'z' in d¦2 in d¦1 in 'abc'¦1 in 5¦none in [none]¦1.0 in l¦'b' in ('a', 'b')¦not 1 in [1]¦not (1 in [2])¦missing in [1]¦1 in missing¦[1, 2] in nested¦missing in 'a'¦i in range(50)¦'a' in none
1 and 2¦0 and 2¦0 or 'x'¦'' or none¦1 or missing.x¦0 and missing.x¦not 1¦not ''¦not not 1¦1 and 0 or 3¦1 or 0 and 0¦not 1 == 2¦none or [] or {}¦yes and no
'a' if yes else 'b'¦'a' if no else 'b'¦'a' if no¦('a' if no) is defined¦1 if no else 2 if no else 3¦1 if yes else 2 if yes else 3¦'x' if l else 'y'¦('x' if no).y¦'a' ~ ('b' if no) ~ 'c'¦[1 if yes else 2, 3]
s[0]¦s[-1]¦s[100]¦s[1:4]¦s[:5]¦s[6:]¦s[::-1]¦s[::2]¦s[-5:-2]¦s[10:2]¦s[5:1:-1]¦s[::-2]¦s[:]¦u[3]¦u[-1]¦u[2:8]¦u[::-1]¦s[100:]¦s[-100:3]¦s[1:4:0]¦s['a':]¦s[none:none]¦s[true]¦l[true]¦s[1.0]
l[0]¦l[-1]¦l[3]¦l[-4]¦l[1:]¦l[::-1]¦l[:-1]¦l[5:]¦(1, 2, 3)[1]¦(1, 2, 3)[:2]¦nested[0][1]¦nested.0.1¦l.0¦l['0']¦l['x']¦l.x¦range(5)[2]¦range(5)[-1]¦range(5)[9]¦range(10)[2:8:3]¦range(5)[::-1]¦range(4)[5:1:2]¦l[0:100:2]¦l[::-100]¦5[0]¦none[0]¦d[1:]¦l['a':'b']
d.a¦d['a']¦d['items']¦d.get('a')¦d.get('z')¦d.get('z', 9)¦d.z¦d['z']¦d['k y']¦d[1]¦d[none]¦d[[1]]¦d.z.y¦d['z']['y']¦d.keys()¦d.values()¦d.items()¦d.items() | list¦d.keys() | list | length¦d.values() | list¦d | list¦d | length¦{1: 'a'}[1]¦{1: 'a'}[true]¦{1: 'a'}[1.0]¦{true: 'a'}[1]¦d.get()¦{none: 1}[none]¦{(1, 2): 3}[1, 2]¦{'a': 1, 'a': 2}¦{1: 'a', true: 'b', 1.0: 'c'}¦{[1]: 2}
missing¦missing.x¦missing['x']¦missing[0]¦missing()¦missing + 1¦1 + missing¦-missing¦missing ~ 'a'¦missing * 2¦'a' * missing¦'a' + missing¦missing[1:]¦missing | length¦missing | list¦missing | upper¦missing | trim¦missing | join¦missing | int¦missing | float¦missing | first¦missing | string¦missing | tojson¦missing | abs¦missing | sum¦missing | sort¦missing | items | list¦missing | reverse | list¦missing | default('x')¦missing.a.b | default('x')¦missing | e¦missing | round¦[missing]¦{'a': missing}¦(missing,)¦missing | map('upper') | list¦missing | last¦missing | max¦missing | dictsort¦missing ** 2¦missing % 2¦'%s' % missing
none.x¦none.x.y¦i.x¦i.x.y¦f.x¦s.x¦s.x.y¦l.x.y¦yes.x¦(1,).x.y¦d.a.b¦d.a.b.c¦none['x']¦none[0].y¦i[0]¦i['x']¦i[0].y¦range(3).x.y¦i.real¦f.real¦i.imag¦i.numerator¦i.denominator¦f.numerator
s.__class__¦s.__class__.x¦l.append¦l.append(1)¦l.pop()¦d.pop('a')¦d.update({})¦d.setdefault('a', 1)¦l.sort()¦l.insert(0, 1)¦l.extend([1])¦d.clear()¦l.reverse()¦l.remove(1)¦s._x¦d._x¦s['__class__']¦d.__len__¦l.clear¦s.upper.__self__¦namespace(a=1).__class__
s.upper()¦s.lower()¦s.title()¦s.capitalize()¦s.swapcase()¦u.upper()¦u.lower()¦u.title()¦u.capitalize()¦u.swapcase()¦'ǆ ﬁ'.title()¦'ǆ'.capitalize()¦'İ'.lower() | length¦'they\'re bill\'s'.title()¦'ΑΣ'.lower()¦'ΑΣ Σ ΑΣ.'.lower()
s.split()¦s.split('o')¦s.split('o', 1)¦s.split(' ', 0)¦'a,b,,c,'.split(',')¦' a  b '.split()¦' a  b c '.split(none, 1)¦'a b c'.split(maxsplit=1)¦'abc'.split('')¦''.split()¦''.split(',')¦s.rsplit('o', 1)¦s.rsplit()¦' a b c '.rsplit(none, 1)¦'a--b--c'.rsplit('--', 1)¦'a\u2003b\u00a0c'.split()¦'a.b.c'.split('.', -1)¦'x'.split(1)¦'a b'.split(sep=' ')¦'a\x1cb\x1fc'.split()¦'aaa'.split('aa')¦'aaa'.rsplit('aa')
lines.splitlines()¦lines.splitlines(true)¦'a\x0bb\x0cc\x1cd\x85e\u2028f'.splitlines()¦''.splitlines()¦'a\n\n'.splitlines()¦'\r\n'.splitlines()¦'a\r'.splitlines(keepends=true)
'  a b '.strip()¦'xxaxx'.strip('x')¦'  a '.lstrip()¦'  a '.rstrip()¦'abcba'.strip('ab')¦'xyax'.lstrip('yx')¦'\u00a0\u3000a\u2028'.strip()¦'éaé'.strip('é')¦'a'.strip(none)¦'a'.strip('')¦'\x1ca\x1f'.strip()¦'\u200ba\u200b'.strip() | length¦'a'.strip(1)
s.startswith('He')¦s.startswith(('x', 'He'))¦s.endswith('ld')¦s.endswith(('x', 'y'))¦s.startswith('')¦s.startswith('llo', 2)¦s.startswith('W', 6, 7)¦s.endswith('o', 0, 5)¦s.startswith(1)¦s.startswith(['H'])¦s.endswith(())¦''.startswith('', 1)¦s.startswith('H', none, none)
s.find('o')¦s.find('o', 5)¦s.find('z')¦s.rfind('o')¦s.index('W')¦s.index('z')¦s.rindex('l')¦s.count('l')¦s.count('')¦s.count('ll')¦u.find('日')¦u.find('😀')¦u.count('Σ')¦s.find('l', -3)¦s.find('')¦''.find('')¦s.find('', 20)¦s.rfind('')¦s.count('o', 5)¦'aaaa'.count('aa')
s.replace('l', 'L')¦s.replace('l', 'L', 1)¦s.replace('', '-')¦s.replace('', '-', 3)¦s.replace('zz', 'y')¦s.replace('l', '')¦s.replace('l', 'L', 0)¦s.replace('l', 'L', -1)¦u.replace('ß', 'ss')¦s.replace('l', 1)¦''.replace('', 'x')¦'aaa'.replace('aa', 'b')¦u.replace('', '.', 4)
','.join(['a', 'b'])¦','.join('abc')¦','.join([1])¦','.join(d)¦''.join([])¦', '.join(l | map('string'))¦','.join(1)¦'-'.join(('x',))
'abc'.removeprefix('a')¦'abc'.removesuffix('bc')¦'abc'.removeprefix('x')¦'abc'.removesuffix('')¦'a-b-c'.partition('-')¦'a-b-c'.rpartition('-')¦'abc'.partition('-')¦'abc'.rpartition('-')¦'abc'.partition('')
'5'.zfill(3)¦'-5'.zfill(4)¦'+5'.zfill(4)¦''.zfill(2)¦'abc'.zfill(2)¦'ab'.center(7)¦'ab'.center(7, '*')¦'abc'.center(6, '*')¦'abc'.center(8, '*')¦'a'.ljust(3) ~ '|'¦'a'.rjust(3, '0')¦'a'.ljust(3, 'ab')¦'a\tb'.expandtabs()¦'a\tbc\td'.expandtabs(4)¦'日'.center(4, '本')
'123'.isdigit()¦'12a'.isdigit()¦''.isdigit()¦'²'.isdigit()¦'٣'.isdigit()¦'abc'.isalpha()¦'日本'.isalpha()¦'ab1'.isalnum()¦'  '.isspace()¦'\u3000'.isspace()¦'ABC'.isupper()¦'Abc'.isupper()¦'abc'.islower()¦'a1'.islower()¦'1'.islower()¦'Title Case'.istitle()¦'Title case'.istitle()¦'abc'.isascii()¦'é'.isascii()¦'a\n'.isprintable()¦'é'.isprintable()¦'5'.isdecimal()¦'ª'.islower()
'{} {}'.format(1, 'a')¦'{1} {0}'.format('a', 'b')¦'{x}'.format(x=3)¦'{:>5}|{:<5}|{:^5}'.format('a', 'b', 'c')¦'{:05d}'.format(42)¦'{:.2f}'.format(3.14159)¦'{:,}'.format(1234567)¦'{:x} {:X} {:o} {:b} {:#x}'.format(255, 255, 8, 5, 255)¦'{0[a]} {0[items]}'.format(d)¦'{0.x}'.format(namespace(x=1))¦'{!r} {!s}'.format('a', 'a')¦'{{}}'.format()¦'{}'.format()¦'{x}'.format()¦'{:>{w}}'.format('a', w=4)¦'{:e} {:g} {:%}'.format(12345.678, 1e-7, 0.25)¦'{:+d} {: d}'.format(5, 5)¦'{:*^9}'.format('mid')¦'{}'.format(none)¦'{} {0}'.format(1)¦'{:d}'.format('a')¦'{:5}|'.format(true)¦'{:s}'.format('a')¦'{:_}'.format(1000000)¦'{:10.3f}|'.format(2.5)¦'{:.3}'.format('abcdef')¦'{'.format()¦'}'.format()¦'{0[0]} {0[1]}'.format(l)¦'{:,.2f}'.format(12345.678)¦'{:c}'.format(65)¦'{:>10}|{:<10}|'.format(1.5, 2)¦'{:08.3f}'.format(-3.14159)
'%s' % 1¦'%s %s' % (1, 'a')¦'%d' % 3.7¦'%5d|%-5d|%05d' % (1, 2, 3)¦'%.2f' % 2.345¦'%x %X %o' % (255, 255, 8)¦'%(a)s' % {'a': 1}¦'%s' % [1]¦'%%' % ()¦'%s %s' % (1,)¦'a' % 1¦'%r' % 'a'¦'%c%c' % (65, 'b')¦'%e' % 1234.5¦'%g' % 0.00001¦'%+d % d' % (1, 2)¦'%10s|%-10s|' % ('a', 'b')¦'%.2s' % 'abc'¦'%d' % 'a'¦'%*d' % (5, 1)¦'%5.1f|' % 2.25¦'%#x' % 255¦'%q' % 1¦'%(z)s' % {'a': 1}¦'a' % ()¦'a' % [1]¦'%03d' % -5¦'%i' % 2.9¦'%s' % none¦'%s' % ((1, 2),)
l.count(1)¦l.index(2)¦l.index(9)¦(1, 2).count(1)¦(1, 2).index(2)¦l.copy()¦d.copy()¦l.index(1, 2)¦l.count()¦l.upper()¦d.a()¦i()¦s()¦none()¦'a'()¦s.nope()
l | length¦s | count¦5 | length¦none | length¦u | length¦d | count¦range(3) | length¦'😀' | length
l | sort¦l | sort(reverse=true)¦words | sort¦words | sort(case_sensitive=true)¦words | sort(true)¦people | sort(attribute='age') | map(attribute='name') | join(' ')¦people | sort(attribute='age,name') | map(attribute='name') | list¦people | sort(reverse=true, attribute='age') | map(attribute='name') | list¦mixed | sort¦d | sort¦s | sort | join¦people | sort(attribute='zzz')¦[2.5, 1, true] | sort
people | map(attribute='name') | list¦people | map(attribute='zz') | list¦people | map(attribute='zz', default='?') | list¦people | map(attribute='tags.0') | list¦people | map(attribute='tags.0', default='-') | list¦words | map('upper') | join¦words | map('replace', 'a', 'X') | list¦l | map('string') | list¦nested | map('length') | list¦nested | map('sum') | list¦words | map('nope') | list¦words | map() | list¦words | map(foo='x') | list¦l | map('abs') | map('string') | map('center', 3) | join('|')¦[1, 2] | map('default', 0) | list¦nested | map('first') | map('default', 0) | list
l | select('odd') | list¦l | select | list¦mixed | select | list¦mixed | reject | list¦l | select('greaterthan', 1) | list¦l | select('>', 1) | list¦l | reject('equalto', 2) | list¦l | select('in', [1, 2]) | list¦mixed | select('string') | list¦mixed | select('none') | list¦mixed | select('number') | list¦people | selectattr('tags') | map(attribute='name') | list¦people | selectattr('age', 'equalto', 30) | map(attribute='name') | list¦people | rejectattr('age', 'ge', 30) | list¦people | selectattr('zz', 'defined') | list¦people | selectattr('zz') | list¦people | selectattr('name', 'lower') | map(attribute='name') | list¦people | selectattr() | list¦l | select('nope') | list¦messages | selectattr('role', '==', 'user') | first¦messages | rejectattr('role', 'in', ['user']) | map(attribute='role') | list¦messages | selectattr('tool_calls', 'defined') | list | length
l | first¦[] | first¦[] | last¦l | last¦s | first¦s | last¦d | first¦d | last¦'' | first¦([] | first) is defined¦5 | first¦l | reverse | list¦s | reverse¦d | reverse | list¦range(3) | reverse | list¦l | reverse | first¦none | reverse¦range(4) | last¦(l | map('string') | last)
l | sum¦nested | sum¦nested | sum(start=[])¦people | sum(attribute='age')¦people | sum('age', 100)¦[0.1, 0.2] | sum¦words | sum¦[] | sum¦l | min¦l | max¦[] | max¦words | min¦words | max(case_sensitive=true)¦people | max(attribute='age')¦people | min(attribute='name')¦mixed | max¦[1, 2.5, true] | max
words | unique | list¦[1, 1.0, true, 2] | unique | list¦people | unique(attribute='age') | map(attribute='name') | list¦words | unique(case_sensitive=true) | list¦nested | unique | list¦'aAbB' | unique | list
people | groupby('age')¦people | groupby('age') | map(attribute='grouper') | list¦people | groupby('age') | map('last') | map('length') | list¦people | groupby('zz', default='?') | length¦people | groupby('name') | map(attribute='list') | map('first') | map(attribute='age') | list¦people | groupby(attribute='age') | map('first') | list¦[{'a': 'X'}, {'a': 'x'}] | groupby('a')¦[{'a': 'X'}, {'a': 'x'}] | groupby('a', case_sensitive=true)
d | dictsort¦d | dictsort(true)¦{'x': 2, 'y': 1} | dictsort(by='value')¦{'x': 2, 'y': 1} | dictsort(reverse=true)¦d | dictsort(by='zz')¦l | dictsort¦{1: 'a', 'b': 2} | dictsort¦d | items | list¦l | items | list¦none | items | list¦d.items() | sort
l | batch(2) | list¦l | batch(2, 'x') | list¦[] | batch(2) | list¦range(7) | batch(3) | list¦l | slice(2) | list¦range(7) | slice(3) | list¦range(7) | slice(3, 'x') | list¦l | slice(5) | list¦l | batch(0) | list
s | upper¦s | lower¦s | title¦s | capitalize¦u | upper¦u | title¦'foo-bar (baz) <x> [y] {z}' | title¦i | upper¦none | upper¦l | upper¦'  x ' | trim¦'xxaxx' | trim('x')¦i | trim¦none | trim¦s | replace('l', 'L')¦s | replace('l', 'L', 1)¦i | replace('4', '5')¦i | replace(4, 5)¦s | replace('', '.')¦s | center(21)¦'ab' | center(5)¦s | wordcount¦u | wordcount¦'it\'s a-b c_d 1.5' | wordcount
'a' | string¦1.0 | string¦none | string¦[1, 'a'] | string¦true | string¦s | list¦5 | list¦none | list¦d | list¦'a' | safe¦html | e¦html | escape¦html | forceescape¦5 | e¦none | e
'12' | int¦'12.7' | int¦'x' | int¦'x' | int(9)¦'0x1f' | int(base=16)¦'0x1f' | int(0, 16)¦'1f' | int(base=16)¦'101' | int(0, 2)¦3.9 | int¦-3.9 | int¦none | int¦none | int(5)¦true | int¦' 42 ' | int¦'1_000' | int¦'1__0' | int¦'-5' | int¦'+5' | int¦'' | int¦'1e3' | int¦'0b11' | int(base=0)¦[] | int¦'inf' | int(3)¦'nan' | int(3)¦1e400 | int¦'12' | int('a')¦i | int('a')
'1.5' | float¦'x' | float¦'x' | float(2.0)¦none | float¦i | float¦' 1e3 ' | float¦'inf' | float¦'-infinity' | float¦'nan' | float¦'1_0.5' | float¦'.5' | float¦'5.' | float¦'1e400' | float¦'' | float¦'1e' | float¦[] | float¦true | float¦'0x10' | float
-5 | abs¦(-5) | abs¦-2.5 | abs¦'a' | abs¦none | abs¦true | abs¦2.5 | round¦3.5 | round¦-2.5 | round¦2.675 | round(2)¦1234.567 | round(-2)¦42 | round¦42 | round(2)¦45 | round(-1)¦55 | round(-1)¦2.1 | round(method='ceil')¦2.9 | round(method='floor')¦2.123 | round(2, 'ceil')¦2.129 | round(2, 'floor')¦2.5 | round(method='x')¦'a' | round¦1e300 | round(2)¦0.5 | round¦1.5 | round | int¦2.0 | round(0, 'ceil')¦42 | round(1, 'floor')¦true | round¦1e16 | round(3)¦-0.4 | round
'a' | default('b')¦'' | default('b')¦'' | default('b', true)¦'' | d('b', boolean=true)¦none | default('b')¦none | default('b', true)¦missing | d¦missing | default¦0 | default(1, true)¦d.z | default({}) | tojson¦missing.x.y | default('z')¦missing | default(default_value='q')¦missing | default(1, 2, 3)
d | tojson¦l | tojson¦s | tojson¦u | tojson¦u | tojson(ensure_ascii=true)¦none | tojson¦yes | tojson¦f | tojson¦1e16 | tojson¦big | tojson¦1e400 | tojson¦-1e400 | tojson¦(1, 2) | tojson¦html | tojson¦'\x00\x1f\x7f\u2028\\"/' | tojson¦'\x7f\u00e9😀' | tojson(true)¦d | tojson(indent=2)¦nested | tojson(indent=2)¦[] | tojson(indent=2)¦{} | tojson(indent=2)¦{'a': {}, 'b': [], 'c': [1]} | tojson(indent=4)¦d | tojson(indent='--')¦d | tojson(separators=(',', ':'))¦d | tojson(sort_keys=true)¦{'b': 1, 'a': {'d': 1, 'c': 2}} | tojson(sort_keys=true, indent=1)¦{1: 'a', none: 'b', true: 'c', 2.5: 'd'} | tojson¦{(1, 2): 3} | tojson¦{1: 1, 'a': 2} | tojson(sort_keys=true)¦range(3) | tojson¦namespace(a=1) | tojson¦d.items() | tojson¦[missing] | tojson¦d | tojson(indent=0)¦d | tojson(indent=-1)¦d | tojson(2)¦d | tojson(false, 2)¦nested | tojson(indent=2, separators=(', ', ' : '))¦messages | tojson¦{'a': [1, {'b': none}]} | tojson(indent=3)¦d | tojson(indent=true)¦lines | tojson¦'a' | tojson(nope=1)¦d | tojson(separators=(',',))¦d | tojson(separators=none)
'a\nb\n\nc' | indent¦'a\nb\n\nc' | indent(2)¦'a\nb' | indent(2, true)¦'a\n\nb' | indent(2, blank=true)¦'a\nb' | indent('> ')¦'a\nb' | indent(width='> ', first=true)¦'a\n' | indent¦'' | indent(3, true)¦'\na' | indent(1)¦5 | indent¦'a\r\nb' | indent(1)
'%s-%s' | format(1, 'a')¦'%(x)s' | format(x=1)¦'%s' | format¦'%d' | format('a')¦'%s' | format(1, x=2)¦i | format¦s | truncate(5)¦s | truncate(5, true)¦s | truncate(5, true, '')¦s | truncate(8, leeway=0)¦'foo bar baz qux' | truncate(9)¦'foo bar baz qux' | truncate(9, true)¦'foo bar baz qux' | truncate(11)¦'foo bar baz qux' | truncate(11, false, '...', 0)¦s | truncate(2)¦5 | truncate¦l | truncate¦people[0]['it\'s']['x'].y¦u | truncate(9, end='…', leeway=0)
d | attr('a')¦d | attr('items') is callable¦namespace(x=1) | attr('x')¦s | attr('nope')¦(s | attr('nope')).x¦i | attr('real')
l | join¦l | join(', ')¦people | join(', ', attribute='name')¦s | join('-')¦mixed | join('|')¦5 | join¦d | join(',')¦[] | join(',')¦l | join(0)¦nested | join(';')
x is defined¦s is defined¦missing.x is defined¦d.zz is defined¦d.a is defined¦s is undefined¦missing is undefined¦missing is not defined¦not missing is defined¦none is none¦missing is none¦0 is none¦none is not none¦messages[0].x is defined¦d.zz is none
s is string¦i is string¦i is number¦f is number¦yes is number¦i is integer¦yes is integer¦f is integer¦f is float¦i is float¦yes is boolean¦i is boolean¦yes is true¦1 is true¦no is false¦0 is false¦none is false¦big is integer
d is mapping¦l is mapping¦l is iterable¦s is iterable¦i is iterable¦d is iterable¦none is iterable¦missing is iterable¦l is sequence¦s is sequence¦d is sequence¦i is sequence¦(1,) is sequence¦range(3) is sequence¦d.items() is sequence¦d.items() is iterable¦missing is sequence¦d.get is callable¦s is callable¦range is callable¦missing is callable¦missing is mapping¦missing is string
4 is even¦3 is odd¦3 is even¦6 is divisibleby 3¦6 is divisibleby(4)¦5 is divisibleby 0¦'a' is even¦2.0 is even¦3 is eq 3¦3 is equalto(3.0)¦3 is ne 4¦3 is lt 4¦3 is gt 4¦3 is le 3¦3 is ge 3¦3 is lessthan 4¦3 is greaterthan 4¦1 is lt 'a'¦'a' is in 'abc'¦1 is in [1]¦'a' is in d¦1 is in(l)¦none is sameas none¦l is sameas l¦l is sameas [3, 1, 2]¦1 is sameas 1¦true is sameas 1¦yes is sameas true¦'abc' is lower¦'Abc' is lower¦'ABC' is upper¦1 is upper¦'upper' is filter¦'nope' is filter¦'odd' is test¦'nope' is test¦s is escaped¦missing is eq missing¦missing is sameas missing¦s is not string¦l is not mapping and s is string¦i is odd or yes¦i is divisibleby 2 and yes¦i is divisibleby 2 or no
range(3)¦range(3) | list¦range(1, 4) | list¦range(10, 0, -3) | list¦range(0)¦range(3, 1) | list¦range(1, 10, 4) | list¦range(0, 1, 0)¦range('a')¦range(1.5)¦range(100001) | length¦range(100000) | length¦range()¦range(1, 2, 3, 4)¦range(-5, 5, 5) | list¦range(0, 5, 2)¦3 in range(5)
dict(a=1, b=2)¦dict([['a', 1], ['b', 2]])¦dict(d, z=1)¦dict()¦dict({'a': 1}, a=2)¦dict([1])¦dict(1)¦namespace()¦namespace(a=1, b='x')¦namespace({'a': 1}).a¦namespace(a=1).b¦namespace(a=1).b.c¦namespace(a=1)['a']¦namespace(a=[1, 2]).a[0]¦namespace(a=1) is mapping¦namespace(a=1) | list¦namespace(items=1).items
[1, 2, 3,]¦{'a': 1,}¦(1, 2,)¦range(3,) | list¦[[1, 2], [3]][0][1]¦{'a': {'b': [1, 2]}}.a.b[-1]¦[1, 2][0] + 3¦(1 + 2) * 3¦-(1 + 2)¦- 2 | abs¦2 + 3 | string¦'a' 'b' | upper¦'a' ~ 'b' | upper¦not yes | default(1)¦1 + -1¦1 - - 1¦--1¦+-1¦i is number and f is number¦[1, 2] | length > 1¦s | length == 11¦'x' in s | lower¦i if i > 40 else 0¦s.upper().lower().title()¦s.split()[0].upper()[::-1]¦l[l | length - 1]¦d[('a')]¦d['a' ~ '']¦(l | sort)[0]¦(l)[0]¦'a'.upper().join(['x', 'y'])¦{'a': 1}.items() | list¦{}.get('a', 'b') | upper¦'abc'[1]¦'abc'[1:][0]¦[3, 4].index(4)¦"a" if "b" in "abc" and not "z" in "abc" else "c"
messages[1].content¦messages[-1].content is none¦messages[-1].tool_calls[0].arguments | tojson¦messages | length¦messages[0]¦messages[2]['tool_calls'][0]['name']¦messages[1:][0].n¦messages[9].role¦messages[9]¦messages | map(attribute='content') | list¦add_generation_prompt¦tools¦documents¦tools is none¦bos_token¦bos_token is defined
raise_exception('stop: ' ~ i)¦raise_exception(5)¦raise_exception()¦raise_exception(none)¦raise_exception('ü\n"x"')¦strftime_now('%%')¦strftime_now('')¦strftime_now('%Y') | length¦strftime_now('literal é')
cycler('a', 'b').next()¦cycler('a').current¦joiner(',')()¦joiner() is callable¦cycler()¦lipsum is callable
loop¦loop.index¦super is defined¦caller¦kwargs¦varargs¦_¦_x¦context is defined¦print is defined¦len is defined¦str is defined¦true.x¦true1¦trueish is defined¦in1¦nothing¦iffy
"""

# Whole templates, separated by lines of ====.
TEMPLATES = r"""
{% for x in l %}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}
====
{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}
====
{% for x in [] %}x{% else %}empty{% endfor %}{% for x in l %}{% continue %}{% else %}continued{% endfor %}{% for x in l %}{% break %}{% else %}broken{% endfor %}
====
{% for x in l if x > 1 %}{{ x }}:{{ loop.index }}/{{ loop.length }} {% else %}none{% endfor %}{% for x in l if x > 9 %}x{% else %}none{% endfor %}
====
{% for a, b in [[1, 2], (3, 4)] %}{{ a }}-{{ b }};{% endfor %}{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for (a, b), c in [((1, 2), 3)] %}{{ a + b + c }}{% endfor %}
====
{% for a, b in [[1, 2, 3]] %}{{ a }}{% endfor %}
====
{% for a, b in [[1]] %}{{ a }}{% endfor %}
====
{% for a, b in [1] %}{{ a }}{% endfor %}
====
{% for x in 5 %}{{ x }}{% endfor %}
====
{% for x in none %}{{ x }}{% endfor %}
====
{% for x in missing %}x{% else %}nothing{% endfor %}{% for x in missing.y %}x{% endfor %}
====
{% for x in 'aé😀' %}[{{ x }}]{{ loop.previtem }}{{ loop.nextitem }}{% endfor %}
====
{% for x in d %}{{ x }} {% endfor %}{% for x in range(3) %}{{ x }}{% endfor %}{% for x in l | map('string') %}{{ x }}{{ loop.length }}{{ loop.last }}{% endfor %}
====
{% for x in l %}{{ loop.previtem is defined }}{{ loop.previtem }}{{ loop.nextitem is defined }}{{ loop.nextitem }} {% endfor %}
====
{% for x in [1, 1, 2, 2, 1] %}{% if loop.changed(x) %}{{ x }}{% endif %}{{ loop.cycle('a', 'b') }}{% endfor %}
====
{% for x in l %}{{ loop.nope }}{% endfor %}{% for x in l %}{{ loop.previtem.x }}{% endfor %}
====
{% for x in l %}{% set y = x %}{% endfor %}{{ y is defined }}{% set z = 0 %}{% for x in l %}{% set z = z + x %}{{ z }} {% endfor %}{{ z }}
====
{% set ns = namespace(total=0, items=[]) %}{% for x in l %}{% set ns.total = ns.total + x %}{% set ns.items = ns.items + [x * 2] %}{% endfor %}{{ ns.total }} {{ ns.items }} {{ ns }}
====
{% set ns.x = 1 %}
====
{% set ns = 5 %}{% set ns.x = 1 %}
====
{% set d.x = 1 %}
====
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set a, b = b, a %}{{ a }}{{ b }}{% set (c, e) = [5, 6] %}{{ c + e }}{% set ns = namespace() %}{% set ns.a, ns.b = 7, 8 %}{{ ns.a }}{{ ns.b }}
====
{% set x %}block {{ i }}{% endset %}[{{ x }}]{% set y | upper | trim %}  shout {% endset %}[{{ y }}]{% set n | length %}four{% endset %}{{ n + 1 }}{% set ns = namespace() %}{% set ns.t %}in ns{% endset %}{{ ns.t }}
====
{% set x = 1 %}{% if yes %}{% set x = 2 %}{% endif %}{{ x }}{% if no %}{% set q = 1 %}{% endif %}{{ q is defined }}
====
{% set tools %}{{ tools }}x{% endset %}[{{ tools }}]
====
{% for m in [1] %}[{{ i }}]{% endfor %}{% set i = 5 %}{{ i }}
====
{% macro m() %}[{{ i }}]{% endmacro %}{{ m() }}{% set i = 5 %}{{ m() }}
====
{% for m in [1, 2] %}{% if m == 2 %}{% set i = 0 %}{% endif %}{{ i }} {% endfor %}{{ i }}
====
{% for m in [1, 2] %}{% for k in [1] %}{{ i }}{% endfor %}{% set i = 0 %}{{ i }} {% endfor %}{{ i }}
====
{% macro hello(name, greeting='Hi', punct='!') %}{{ greeting }} {{ name }}{{ punct }}{% endmacro %}{{ hello('Ann') }} {{ hello('Bob', 'Yo') }} {{ hello(name='C', punct='?') }} {{ hello() }} {{ hello(punct='.', name='x') }}
====
{% macro m(a, b=a ~ '2') %}{{ a }}{{ b }}{% endmacro %}{{ m('x') }}{{ m('x', 'y') }}
====
{% macro m(a) %}{{ a.x }}{% endmacro %}{{ m() }}
====
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
====
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}
====
{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}{{ m() }}
====
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}{{ m(**{'a': 2}) }}{{ m(*l) }}
====
{% macro m(a) %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}{% endmacro %}{{ m(1) }}{{ m }}
====
{% macro fact(n) %}{% if n <= 1 %}1{% else %}{{ n * (fact(n - 1) | int) }}{% endif %}{% endmacro %}{{ fact(10) }}
====
{% macro wrap(tag) %}<{{ tag }}>{{ caller() }}</{{ tag }}>{% endmacro %}{% call wrap('b') %}text {{ i }}{% endcall %}
====
{% macro each(items) %}{% for x in items %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}{% call(x, n=0) each(l) %}[{{ n }}:{{ x }}]{% endcall %}
====
{% macro m() %}{{ caller is defined }}{{ caller }}{% endmacro %}{{ m() }}
====
{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}
====
{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}
====
{% call missing() %}y{% endcall %}
====
{% set x = 'outer' %}{% macro m() %}{{ x }}{% set x = 'inner' %}{{ x }}{% endmacro %}{{ m() }}{{ x }}
====
{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}late{% endmacro %}{{ a() }}
====
{% macro a(x) %}{% macro b() %}[{{ x }}]{% endmacro %}{{ b() }}{% endmacro %}{{ a(1) }}{{ a(2) }}{{ b is defined }}
====
{% with a = 1, b = 2 %}{{ a + b }}{% set c = 3 %}{{ c }}{% endwith %}{{ a is defined }}{{ c is defined }}
====
{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}{% with i = i + 1 %}{{ i }}{% endwith %}{{ i }}{% with a = 1, b = a %}{{ b }}{% endwith %}
====
{% filter upper %}hello {{ s }}{% endfilter %}{% filter replace('a', 'b') | upper %}banana{% endfilter %}{% filter trim %}  x {% set y = 1 %} {% endfilter %}{{ y is defined }}
====
{% if i > 50 %}a{% elif i > 40 %}b{% else %}c{% endif %}{% if missing %}a{% elif none %}b{% elif [] %}c{% elif 0.0 %}d{% else %}e{% endif %}{% if s and l %}x{% endif %}
====
{% for x in [[1, [2, [3]]], 4] recursive %}{{ loop.depth }}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}
====
{% for x in l %}{{ loop(x) }}{% endfor %}
====
{% for x in l %}{% for y in l %}{{ loop.index }}{% if loop.index == 2 %}{% break %}{% endif %}{% endfor %}{{ loop.index }} {% endfor %}
====
{% for x in l %}{% set outer = loop %}{% for y in [1, 2] %}{{ outer.index }}.{{ loop.index }} {% endfor %}{% endfor %}
====
{% for x in range(10) %}{% if x is odd %}{% continue %}{% endif %}{% if x > 6 %}{% break %}{% endif %}{{ x }}{% endfor %}
====
{% for x in l %}{% set y %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endset %}[{{ y }}]{% endfor %}
====
{% break %}
====
{% for x in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}
====
{% set g = l | select('odd') %}{{ g | list }}{{ g | list }}{% set r = l | reverse %}{{ r | list }}{{ r | list }}{% set it = d | items %}{% for k, v in it %}{{ k }}{% break %}{% endfor %}{{ it | list | length }}
====
{% set x = l | map('nope') %}fine{% if x %}truthy{% endif %}
====
{% if false %}{{ 1 | nope }}{% endif %}{{ 'a' if true else 1 | nope }}{{ 'x' if true or (1 is nope) else 2 }}
====
{{ 1 | nope }}
====
{{ 1 is nope }}
====
{% if true %}{{ 1 | nope }}{% endif %}
====
{% if false %}{% for x in l %}{{ x | nope }}{% endfor %}{% endif %}
====
{% set j = joiner('; ') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}{% set c = cycler('a', 'b', 'c') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set _ = c.reset() %}{{ c.next() }}
====
{# comment #}a{#- trimmed -#}   b  {#+ kept #}  c{# multi
line #}
d
====
a
  {% if true %}
    b
  {% endif %}
c
====
a  {% if true %}  b  {% endif %}  c
====
  {{ i }}
	{% if true -%}
   x
   {%- endif %}

y
====
a
   {%- if true %}
 b
   {%+ if true %}
 c
   {% endif +%}
 d
   {% endif -%}


 e
====
{% if true %}

two lines above
{% endif %}

end
====
{%- for x in l -%}
   {{ x }}
{%- endfor -%}
====
{%- for x in l %}
   {{- x -}}
{% endfor %}
   tail   {{- ' ' -}}   end
====
line with {{- ' no space ' -}} after and {{ '-' }}{{-1}}{{- -1 }}{{+1}}
====
{% raw %}{{ not }} {% evaluated %}{# here #}{% endraw %}
====
   {% raw %}
   {{ x }}
   {% endraw %}
   after
====
   {%- raw -%}
   {{ x }}
   {%- endraw -%}
   after
====
{% raw %}{% raw %}{% endraw %}{% set x = 1 %}  {%+ raw +%}
====
{%raw%}a{%endraw%}{%   raw   %}b{%   endraw   %}c{%- raw %} d {% endraw -%} e
====
{% raw %}never closed
====
{# never closed
====
open {#
====
open {% raw %}
====
{{ 'never closed }}
====
{{ i
====
{% if true %}
====
{% endif %}
====
{% for x in l %}{% endif %}
====
{{ }}
====
{% %}
====
{{ 1 2 }}
====
{{ ) }}
====
{{ (1] }}
====
{{ a b }}
====
{{ l[ }}
====
{{ 'a' | }}
====
{{ x is }}
====
{{ 1 is number is string }}
====
{{ d.1x }}
====
{{ d. }}
====
{{ 012 }}
====
{{ 1__0 }}
====
{{ $ }}
====
{{ a ! b }}
====
{{ '\x4' }}
====
{{ 'é' ~ é }}{% set é = 2 %}{{ é }}
====
{% set 1 = 2 %}
====
{% set true = 2 %}
====
{% set x %}
====
{% set x = %}
====
{% for %}{% endfor %}
====
{% for x %}{% endfor %}
====
{% for loop in l %}{% endfor %}
====
{% for x in l %}{% set loop = 1 %}{% endfor %}
====
{% macro %}{% endmacro %}
====
{% macro m(a=1, b) %}{% endmacro %}
====
{% macro m(1) %}{% endmacro %}
====
{% call 1 %}{% endcall %}
====
{% nope %}
====
{% if true %}{% else %}{% elif x %}{% endif %}
====
{% generation %}a{{ i }}{% set q = 1 %}{% endgeneration %}{{ q is defined }}
====
{% for x in l %}{% generation %}{{ x }}{{ loop.index }}{% endgeneration %}{% endfor %}
====
{% print i, s %}{% print %}
====
{% if yes: %}colon{% endif %}{% for x in l: %}{{ x }}{% endfor %}
====
{{ {'a': {'b': 1}}['a']['b'] }}{{ {'}}': 1} }}{{ '{{' ~ '}}' }}{{ "{% if %}" }}
====
{{
   i
   +
   1
}}
{{ s
   | upper
   | replace('L',
             'l') }}
====
trailing newline stays out

====
a{% set x = 1 %}
b
{% set x = 2 %}c
{{ x }}
d
====
{% set x = 1 -%}
   b
{%- set y = 2 %}
   c {%- set z = 3 -%} d
====
{% set text = 'a' %}{% set text = text ~ 'b' %}{% for m in l %}{% set text = text ~ m %}{% endfor %}{{ text }}
====
{%- set ns = namespace(found=false) %}{%- for m in messages %}{%- if m['role'] == 'user' and not ns.found %}{%- set ns.found = true %}{{ loop.index0 }}{%- endif %}{%- endfor %}
====
{% for m in messages[::-1] %}{{ m.role }}{{ (messages | length - 1) - loop.index0 }} {% endfor %}
====
{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate at ' ~ loop.index) }}{% endif %}{% endfor %}
====
{{ d.items.x }}{{ d['items'] }}{% for k, v in d.items() if k != 'items' %}{{ k }}{% endfor %}
====
{% set x = {'a': 1} %}{% set x = dict(x, b=2) %}{{ x }}{% set l2 = l + [4] %}{{ l2 }}{{ l }}
====
{% set x = namespace(a=1) %}{% set y = x %}{% set y.a = 2 %}{{ x.a }}{{ x == y }}{{ x is sameas y }}
====
{{ 'x' if messages[0].nope.deeper is defined else 'y' }}
====
{{ messages[0].nope.deeper | default('y') }}
====
{{ (messages[0].nope or {}).deeper | default('y') }}{{ (missing or {}).x is defined }}
====
{% macro t(schema) %}{% if schema.type == 'array' %}list[{{ t(schema['items']) }}]{% else %}{{ schema.type }}{% endif %}{% endmacro %}{{ t({'type': 'array', 'items': {'type': 'array', 'items': {'type': 'int'}}}) }}
====
{% macro m(x) -%}
   {{ x }}
{%- endmacro %}[{{ m(1) }}][{{ m(1) | length }}][{{ m(2) | int + 1 }}][{{ m('a') ~ m('b') }}][{{ m(' ') | trim }}]
====
{{ cr }}{{ 'a
b' }}
====
{{ lines }}|{{ lines | tojson }}|{{ lines | length }}
====
{% set s = s | lower %}{{ s }}{% set i, f = f, i %}{{ i }}{{ f }}
====
{% if 'content' in messages[0] and messages[0].content is string and messages[0]['content'] | length > 3 %}yes{% endif %}{% if 'zz' not in messages[0] %}no{% endif %}
====
{% for x in l if loop.index > 1 %}{{ x }}{% endfor %}
====
{% for x in l %}{{ x }}{% if loop.index is divisibleby 2 %};{% endif %}{% endfor %}{% for x in l | sort %}{{ x }}{% endfor %}
====
{% set items = [] %}{% for x in l %}{% set _ = items.append(x) %}{% endfor %}{{ items }}
====
{{ d | length > 3 and l | length == 3 }}{{ 'a' 'b' ~ 'c' 'd' }}{{ [1, 2, 3][1:] | join }}{{ (1, 2) | sum }}{{ {'a': 1} | length }}
====
{% set a = b = 1 %}
====
{% for x in l recursive if x %}{% endfor %}
====
{% for x in l if x recursive %}{{ x }}{% endfor %}
====
{% for x in (1, 2) %}{{ x }}{% endfor %}{% for x in 1, 2 %}{{ x }}{% endfor %}{% for x, in [[1]] %}{{ x }}{% endfor %}{% for x in [1] if yes else [2] %}{{ x }}{% endfor %}
====
{% include 'x' %}
====
{{ '%s' | format(s) }}{{ s | default(i) | upper | replace('O', '0') | truncate(7, true, '') | center(11) | length }}
====
{{ people | map(attribute='name') | map('lower') | sort | join(',') }}{{ people | sum(attribute='age') / people | length }}
====
{{ loop is defined }}{% for x in [1] %}{{ loop is defined }}{% endfor %}{{ loop is defined }}
====
{% for x in l %}{% for loop2 in [loop] %}{{ loop2.index }}{% endfor %}{% with loop = loop %}{{ loop.last }}{% endwith %}{% endfor %}
====
{% macro outer() %}{% for x in l %}{{ caller(x) }}{% endfor %}{% endmacro %}{% call(v) outer() %}{% if v == 2 %}two{% else %}{{ v }}{% endif %} {% endcall %}
====
{%- macro a(x) %}{{ x }}{% endmacro -%}{%- set f = a -%}{{ f(3) }}{{ [a][0](4) }}{{ {'k': a}.k(5) }}{{ l | map('string') | map('upper') | first }}
"""


def sources():
    for line in EXPRESSIONS.strip("\n").split("\n"):
        for expression in line.split("¦"):
            yield "{{ " + expression + " }}"
    for template in TEMPLATES.strip("\n").split("\n====\n"):
        yield template
        yield template + "\n"
