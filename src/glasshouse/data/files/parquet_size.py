"""How much a Parquet file holds when unpacked, from its footer, before anything of it is unpacked.

The footer is a structure of Apache Thrift in its compact form: fields of (number, type, value), where whole numbers are
zigzag varints. Of it one number per row group is wanted: field 4 of the file lists the row groups, field 2 of a row
group is its size in bytes when unpacked. Everything else is stepped over.
"""

from __future__ import annotations

from pathlib import Path

ROW_GROUPS, TOTAL_BYTES = 4, 2  # numbers of fields in Parquet's own description of its format
STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)
DEEPEST = 32  # structures in structures; a true footer has about five
MAGIC = b"PAR1"
LARGEST_FOOTER = 256 * 1024**2


class NoFooter(ValueError):
    """The bytes are no footer of a Parquet file."""


def unpacked_size(path: Path) -> int:
    """Bytes that a Parquet file holds when unpacked, as it says.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    int

    Raises
    ------
    NoFooter
        When the end of the file cannot be read as a footer.
    OSError
        When the file cannot be read.
    """
    with path.open("rb") as file:
        length = file.seek(0, 2)
        if length < 12:
            raise NoFooter
        file.seek(length - 8)
        end = file.read(8)
        size = int.from_bytes(end[:4], "little")
        if end[4:] != MAGIC or size > min(length - 8, LARGEST_FOOTER):
            raise NoFooter
        file.seek(length - 8 - size)
        footer = file.read(size)
    try:
        return _Reader(footer).row_group_bytes()
    except IndexError:
        raise NoFooter from None


class _Reader:
    """Steps through a structure in Thrift's compact form."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def row_group_bytes(self) -> int:
        """The sum over all row groups."""
        total, number = 0, 0
        while (kind := (field := self._field(number))[1]) != STOP:
            number = field[0]
            if number == ROW_GROUPS and kind == LIST:
                count, inner = self._list()
                if inner != STRUCT:
                    raise NoFooter
                for _ in range(count):
                    total += self._group()
            else:
                self._skip(kind, 0)
        return total

    def _group(self) -> int:
        size, number = 0, 0
        while (kind := (field := self._field(number))[1]) != STOP:
            number = field[0]
            if number == TOTAL_BYTES and kind == I64:
                size = max(self._whole(), 0)
            else:
                self._skip(kind, 1)
        return size

    def _byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise NoFooter
        return value | byte << shift

    def _whole(self) -> int:
        raw = self._varint()
        return (raw >> 1) ^ -(raw & 1)

    def _field(self, before: int) -> tuple[int, int]:
        """Number and type of the next field; numbers are told as steps where these are small."""
        head = self._byte()
        if head == STOP:
            return before, STOP
        step, kind = head >> 4, head & 0x0F
        return (before + step if step else self._whole()), kind

    def _list(self) -> tuple[int, int]:
        head = self._byte()
        count, kind = head >> 4, head & 0x0F
        count = self._varint() if count == 15 else count
        if count > len(self.content):  # every element takes a byte at least
            raise NoFooter
        return count, kind

    def _skip(self, kind: int, deep: int, in_list: bool = False) -> None:
        if deep > DEEPEST:
            raise NoFooter
        if kind in (TRUE, FALSE):  # of a field the type is the value
            self.at += in_list
        elif kind == BYTE:
            self.at += 1
        elif kind in (I16, I32, I64):
            self._varint()
        elif kind == DOUBLE:
            self.at += 8
        elif kind == BINARY:
            length = self._varint()  # before the place is read: reading moves it
            self.at += length
        elif kind in (LIST, SET):
            count, inner = self._list()
            for _ in range(count):
                self._skip(inner, deep + 1, in_list=True)
        elif kind == MAP:
            count = self._varint()
            kinds = self._byte() if count else 0
            if count > len(self.content):
                raise NoFooter
            for _ in range(count):
                self._skip(kinds >> 4, deep + 1, in_list=True)
                self._skip(kinds & 0x0F, deep + 1, in_list=True)
        elif kind == STRUCT:
            number = 0
            while (field := self._field(number))[1] != STOP:
                number = field[0]
                self._skip(field[1], deep + 1)
        else:
            raise NoFooter
